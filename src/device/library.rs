//! Finds CUDA's libraries under the names and in the folders that distributions, conda and PyPI's packages use, so that
//! nobody need set `LD_LIBRARY_PATH`. The driver's own is where the linker finds it.

use libloading::Library;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A library that is loaded, and the file if it was not the linker that found it.
pub(crate) struct Opened {
    pub library: Library,
    pub path: Option<PathBuf>,
}

/// Every library of these names, the linker's first, each opened when it is asked for. `package` is its folder among PyPI's
/// packages of CUDA 12.
pub(crate) fn find(
    names: &'static [&'static str],
    package: &'static str,
) -> impl Iterator<Item = Opened> {
    let near = names.iter().filter_map(|name| {
        let library = open(OsStr::new(name))?;
        Some(Opened { library, path: None })
    });
    let files = std::iter::once_with(move || folders(package)).flatten();
    let files = files.flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    let far = files.filter(|file| file.exists()).filter_map(|file| {
        let library = open(file.as_os_str())?;
        Some(Opened { library, path: Some(file) })
    });
    near.chain(far)
}

fn open(name: &OsStr) -> Option<Library> {
    // SAFETY: CUDA's libraries do nothing of note when they are loaded.
    unsafe { Library::new(name) }.ok()
}

/// Where libraries may lie that the linker does not look at.
fn folders(package: &str) -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let mut roots: Vec<PathBuf> =
        ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable).collect();
    roots.extend([PathBuf::from("/usr/local/cuda"), PathBuf::from("/opt/cuda")]);
    roots.extend(matching(Path::new("/usr/local"), "cuda-"));
    let mut all: Vec<PathBuf> =
        roots.iter().flat_map(|root| ["lib64", "lib"].map(|lib| root.join(lib))).collect();
    all.extend(variable("CONDA_PREFIX").map(|prefix| prefix.join("lib")));
    let mut prefixes: Vec<PathBuf> = variable("VIRTUAL_ENV").into_iter().collect();
    prefixes.extend(variable("CONDA_PREFIX"));
    prefixes.extend(pythons(std::env::var_os("PATH").as_deref()));
    all.extend(prefixes.iter().flat_map(|prefix| in_python(prefix, package)));
    all
}

/// Folders in `folder` whose names begin like this, the largest name first.
fn matching(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = |path: &PathBuf| {
        path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(start))
    };
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(named).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all
}

/// The prefixes of the first Python on this path: as it lies, as a virtual environment does, and where it leads.
fn pythons(path: Option<&OsStr>) -> Vec<PathBuf> {
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    let files = folders.flat_map(|folder| ["python3", "python"].map(|name| folder.join(name)));
    let Some(python) = files.into_iter().find(|file| file.is_file()) else { return Vec::new() };
    let prefix = |file: &Path| file.parent()?.parent().map(Path::to_path_buf);
    let mut all: Vec<PathBuf> = prefix(&python).into_iter().collect();
    all.extend(python.canonicalize().ok().as_deref().and_then(prefix));
    // What pip installs for all users, and for one.
    all.push("/usr/local".into());
    all.extend(std::env::var_os("HOME").map(|home| Path::new(&home).join(".local")));
    all.dedup();
    all
}

/// PyPI's packages of CUDA, 13 and 12, in a Python of this prefix.
fn in_python(prefix: &Path, package: &str) -> Vec<PathBuf> {
    let lib = prefix.join("lib");
    let sites = matching(&lib, "python3").into_iter().flat_map(|python| {
        ["site-packages", "dist-packages"].map(|packages| python.join(packages))
    });
    let nvidia = sites.map(|site| site.join("nvidia")).filter(|nvidia| nvidia.is_dir());
    let each = |nvidia: PathBuf| ["cu13", package].map(|name| nvidia.join(name).join("lib"));
    nvidia.flat_map(each).collect()
}

/// Declares a struct of a library's functions, with what each is in its headers.
macro_rules! functions {
    ($(#[$doc:meta])* $name:ident { $($function:ident($($argument:ty),*) -> $result:ty;)* }) => {
        $(#[$doc])*
        #[allow(non_snake_case)]
        pub(crate) struct $name {
            $(pub $function: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl $name {
            /// All of them, or the name of one that the library does not have.
            pub fn of(library: &libloading::Library) -> Result<$name, &'static str> {
                // SAFETY: the types are those of the library's headers, and it is never unloaded while they are used.
                unsafe {
                    Ok($name {
                        $($function: *library
                            .get(concat!(stringify!($function), "\0").as_bytes())
                            .map_err(|_| stringify!($function))?,)*
                    })
                }
            }
        }
    };
}
pub(crate) use functions;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_the_python_on_the_path_are_found() {
        let root = std::env::temp_dir().join(format!("hive-library-{}", std::process::id()));
        let own = root.join("env/lib/python3.12/site-packages/nvidia");
        for folder in ["cu13/lib", "cuda_nvrtc/lib"] {
            std::fs::create_dir_all(own.join(folder)).unwrap();
        }
        std::fs::create_dir_all(root.join("env/bin")).unwrap();
        std::fs::write(root.join("env/bin/python3"), "").unwrap();
        let path = std::env::join_paths([root.join("none"), root.join("env/bin")]).unwrap();
        let prefixes = pythons(Some(&path));
        assert_eq!(prefixes[0], root.join("env"));
        let found = in_python(&prefixes[0], "cuda_nvrtc");
        assert_eq!(found, [own.join("cu13/lib"), own.join("cuda_nvrtc/lib")]);
        assert_eq!(pythons(None), Vec::<PathBuf>::new());
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_library_without_a_function_names_it() {
        functions!(#[allow(dead_code)] Strange { strlen(*const std::ffi::c_char) -> usize; hive_is_not_there() -> i32; });
        let own = Library::from(libloading::os::unix::Library::this());
        assert_eq!(Strange::of(&own).err(), Some("hive_is_not_there"));
    }
}
