//! What a plot is made of, before it is SVG.

use super::ink::Ink;

/// Where a text's x is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A mark. Lengths are in pixels at the plot's own size; y grows downwards.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Line {
        points: Vec<(f32, f32)>,
        ink: Ink,
        width: f32,
        dash: &'static [f32],
    },
    /// A filled outline.
    Area {
        points: Vec<(f32, f32)>,
        ink: Ink,
    },
    Disc {
        x: f32,
        y: f32,
        radius: f32,
        ink: Ink,
    },
    Rect {
        x: f32,
        y: f32,
        width: f32,
        height: f32,
        ink: Ink,
    },
    Text {
        x: f32,
        y: f32,
        size: f32,
        anchor: Anchor,
        ink: Ink,
        text: String,
    },
}

/// Marks that belong together, with what is shown when they are pointed at.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub tip: Option<String>,
    pub shapes: Vec<Shape>,
}

/// A plot.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub width: f32,
    pub height: f32,
    pub title: String,
    /// What is seen, for those who do not see it.
    pub description: String,
    pub groups: Vec<Group>,
}

impl Scene {
    /// An empty one.
    pub(crate) fn new(width: f32, title: &str, description: String) -> Scene {
        Scene { width, height: 0.0, title: title.into(), description, groups: Vec::new() }
    }

    /// Adds a mark.
    pub(crate) fn add(&mut self, shape: Shape) {
        self.groups.push(Group { tip: None, shapes: vec![shape] });
    }

    /// Adds marks that explain themselves when pointed at.
    pub(crate) fn tipped(&mut self, tip: String, shapes: Vec<Shape>) {
        self.groups.push(Group { tip: Some(tip), shapes });
    }

    /// Adds a straight line.
    pub(crate) fn rule(
        &mut self,
        from: (f32, f32),
        to: (f32, f32),
        ink: Ink,
        dash: &'static [f32],
    ) {
        self.add(Shape::Line { points: vec![from, to], ink, width: 1.0, dash });
    }

    /// Adds words.
    pub(crate) fn text(
        &mut self,
        at: (f32, f32),
        size: f32,
        anchor: Anchor,
        ink: Ink,
        text: impl Into<String>,
    ) {
        self.add(Shape::Text { x: at.0, y: at.1, size, anchor, ink, text: text.into() });
    }
}
