//! How processes find each other: number 0 listens, the others come, and every two of them get a connection.

use super::launcher::Process;
use super::message::{Hello, Message, broken, receive_message, send_message};
use crate::error::{Error, Result};
use crate::threads;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// What a connection begins with, before the fingerprint; the last byte is the version of what follows.
const MAGIC: [u8; 8] = *b"hive\0\0\0\x02";
/// How long a connection may take to come about, or to say something once it has shown the fingerprint.
pub(super) const GREETING: Duration = Duration::from_secs(2);
/// How long a new one may take to show the fingerprint.
const SHOWING: Duration = Duration::from_millis(500);
/// New connections that are listened to at once.
pub(super) const MOST_GREETINGS: usize = 64;

/// What connecting comes to.
pub(super) struct Connected {
    pub hellos: Vec<Hello>,
    /// By number; none to itself, and where one did not come.
    pub streams: Streams,
    pub listener: TcpListener,
    /// Where each process listens, by number.
    pub places: Vec<String>,
    /// Whether this process has come to others that were at work.
    pub later: bool,
}

/// Listens to a new connection until it has said who it is; without the fingerprint it gets no answer.
pub(super) fn greet(mut stream: TcpStream, secret: [u8; 32], to: &Sender<(Hello, TcpStream)>) {
    let mut shown = [0; 40];
    let ready = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(SHOWING)));
    let until = Instant::now() + SHOWING;
    let mut read = 0;
    while read < shown.len() {
        match stream.read(&mut shown[read..]) {
            Ok(some) if ready.is_ok() && some > 0 && Instant::now() < until => read += some,
            _ => return,
        }
    }
    if shown[..8] != MAGIC || shown[8..] != secret {
        return;
    }
    let _ = stream.set_read_timeout(Some(GREETING));
    if let Some(Message::Hello(hello)) = receive_message(&mut stream) {
        let _ = to.send((hello, stream));
    }
}

/// Accepts connections and greets them beside each other, until `take` has all that it wants.
pub(super) fn accept<T>(
    listener: &TcpListener,
    process: &Process,
    until: Instant,
    mut take: impl FnMut(Hello, TcpStream) -> Option<T>,
) -> Result<Option<T>> {
    listener.set_nonblocking(true).map_err(broken)?;
    let (to, greeted) = channel();
    let busy = Arc::new(AtomicUsize::new(0));
    while Instant::now() < until {
        // Others wait at the door.
        if busy.load(Ordering::Relaxed) < MOST_GREETINGS
            && let Ok((stream, _)) = listener.accept()
        {
            let (to, secret, done) = (to.clone(), process.secret(), busy.clone());
            busy.fetch_add(1, Ordering::Relaxed);
            threads::start("hive-greets", move || {
                greet(stream, secret, &to);
                done.fetch_sub(1, Ordering::Relaxed);
            })?;
        }
        while let Ok((hello, stream)) = greeted.recv_timeout(Duration::from_millis(2)) {
            if let Some(all) = take(hello, stream) {
                return Ok(Some(all));
            }
        }
    }
    Ok(None)
}

pub(super) type Streams = Vec<Option<TcpStream>>;

/// Number 0: waits for all others, and tells them of each other.
pub(super) fn gather(process: &Process, until: Instant) -> Result<Connected> {
    let Process { count, address, .. } = process;
    let listener = TcpListener::bind(address.as_str()).map_err(|e| {
        Error::input(format!("--rendezvous {address}: process 0 cannot listen there ({e}); use an address of its host and \
                              a free port"))
    })?;
    let own = Hello::of(process, 0);
    let mut came: Vec<Option<(Hello, TcpStream)>> = (0..*count).map(|_| None).collect();
    let mut wrong = None;
    let mut missing = count - 1;
    accept(&listener, process, until, |hello, stream| {
        let number = hello.number;
        let says =
            |what: String| Some(format!("process {number} ({}): {what}", hello.place.host.name));
        if hello.version != own.version {
            let (theirs, ours) = (&hello.version, &own.version);
            wrong = says(format!(
                "it runs hive {theirs}, process 0 runs hive {ours}; start the same program everywhere"
            ));
        } else if hello.count != *count {
            let theirs = hello.count;
            wrong = says(format!(
                "it is one of {theirs} processes, process 0 is one of {count}; start all by one launcher"
            ));
        } else if number == 0 || number >= *count || came[number].is_some() {
            wrong = says("another process has this number; give each a number of its own".into());
        } else {
            missing -= 1;
        }
        if let Some(place) = came.get_mut(number) {
            *place = Some((hello, stream));
        }
        (missing == 0 || wrong.is_some()).then_some(())
    })?;
    let absent = || came.iter().skip(1).position(Option::is_none).map(|at| at + 1);
    let wrong = wrong.or_else(|| {
        absent().map(|number| {
            format!(
                "process {number} of {count} did not come to {address} in time; see what it said, and that it reaches this \
                 address and has the same HIVE_TOKEN"
            )
        })
    });
    if let Some(wrong) = wrong {
        for (_, stream) in came.iter_mut().flatten() {
            let _ = send_message(stream, &Message::Refused(wrong.clone()));
        }
        return Err(Error::input(wrong));
    }
    let came = came.into_iter().flatten().collect();
    welcome(address, own, came, listener)
}

/// Tells those who have come of each other.
pub(super) fn welcome(
    address: &str,
    own: Hello,
    mut came: Vec<(Hello, TcpStream)>,
    listener: TcpListener,
) -> Result<Connected> {
    // A host that is reached by way of this one's loopback is this one.
    let here = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let place = |(hello, stream): &(Hello, TcpStream)| match stream.peer_addr().map(|at| at.ip()) {
        Ok(ip) if !ip.is_loopback() => SocketAddr::new(ip, hello.port).to_string(),
        _ => format!("{here}:{}", hello.port),
    };
    let places: Vec<String> =
        std::iter::once(address.to_string()).chain(came.iter().map(place)).collect();
    for (_, stream) in &mut came {
        // One that has died meanwhile is missed later.
        let _ = send_message(stream, &Message::Welcome(places.clone()));
    }
    let (mut hellos, mut streams) = (vec![own], vec![None]);
    for (hello, stream) in came {
        hellos.push(hello);
        streams.push(Some(stream));
    }
    // Who is who follows from what everybody said to number 0.
    let count = hellos.len();
    for (number, hello) in hellos.iter_mut().enumerate() {
        (hello.number, hello.count) = (number, count);
    }
    for stream in streams.iter_mut().flatten() {
        let _ = send_message(stream, &Message::Taking(hellos.clone()));
    }
    Ok(Connected { hellos, streams, listener, places, later: false })
}

/// Connects to an address until it is there.
pub(super) fn reach(address: &str, until: Instant) -> Result<TcpStream> {
    let mut why = String::from("no such host");
    loop {
        let addresses: Vec<SocketAddr> =
            address.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
        for at in addresses {
            match TcpStream::connect_timeout(&at, GREETING) {
                Ok(stream) => return Ok(stream),
                Err(error) => why = error.to_string(),
            }
        }
        if Instant::now() >= until {
            return Err(Error::input(format!(
                "{address}: nobody of this fleet was there in time ({why}); see that process 0 runs, and that this host \
                 reaches its address"
            )));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(super) fn introduce(
    stream: &mut TcpStream,
    process: &Process,
    hello: &Hello,
) -> std::io::Result<()> {
    let shown = [&MAGIC[..], &process.secret()].concat();
    stream.write_all(&shown)?;
    send_message(stream, &Message::Hello(hello.clone()))
}

/// All but number 0: is told of the others, and which number it has among them, and connects to them.
pub(super) fn join(process: &Process, until: Instant) -> Result<(Process, Connected)> {
    let Process { number, address, .. } = process;
    let mut first = reach(address, until)?;
    let own = first.local_addr().map_or(IpAddr::from([127, 0, 0, 1]), |at| at.ip());
    let listener = TcpListener::bind((own, 0)).map_err(broken)?;
    let port = listener.local_addr().map_err(broken)?.port();
    let hello = Hello::of(process, port);
    introduce(&mut first, process, &hello).map_err(broken)?;
    let left = until.saturating_duration_since(Instant::now()) + GREETING;
    first.set_read_timeout(Some(left)).map_err(broken)?;
    let mut answer = receive_message(&mut first);
    let later = matches!(answer, Some(Message::Waits));
    if later {
        // For as long as these need: where they end the connection does, too.
        first.set_read_timeout(None).map_err(broken)?;
        answer = receive_message(&mut first);
    }
    match answer {
        Some(Message::Welcome(places)) => {
            let hellos = told_who(&mut first)?;
            let (process, hello) = numbered(process, &hello, &hellos)?;
            // One that comes later may have waited long.
            let until = until.max(Instant::now() + GREETING);
            let connected = meet_all(&process, &hello, (first, places), hellos, listener, until)?;
            Ok((process, Connected { later, ..connected }))
        }
        Some(Message::Refused(why)) => Err(Error::input(why)),
        _ => Err(Error::input(format!(
            "{address}: process 0 did not answer process {number}; start all with the same program and HIVE_TOKEN"
        ))),
    }
}

/// This process as one of these, which number 0 has numbered.
pub(super) fn numbered(
    process: &Process,
    hello: &Hello,
    hellos: &[Hello],
) -> Result<(Process, Hello)> {
    let number = hellos.iter().position(|other| other.place == hello.place);
    let number = number.ok_or_else(|| Error::machine("process 0 went on without this"))?;
    let count = hellos.len();
    let process = Process { number, count, ..process.clone() };
    Ok((process, Hello { number, count, ..hello.clone() }))
}

/// Who takes part, by number, as number 0 tells behind its welcome.
pub(super) fn told_who(first: &mut TcpStream) -> Result<Vec<Hello>> {
    match receive_message(first) {
        Some(Message::Taking(hellos)) => Ok(hellos),
        _ => Err(Error::machine("process 0 did not say who takes part")),
    }
}

pub(super) fn meet_all(
    process: &Process,
    hello: &Hello,
    (first, places): (TcpStream, Vec<String>),
    hellos: Vec<Hello>,
    listener: TcpListener,
    until: Instant,
) -> Result<Connected> {
    let Process { number, count, .. } = process;
    if hellos.len() != *count {
        return Err(Error::machine("process 0 did not say who takes part; this is a bug"));
    }
    let mut streams: Streams = (0..*count).map(|_| None).collect();
    streams[0] = Some(first);
    for (other, place) in places.iter().enumerate().take(*number).skip(1) {
        // One that has died meanwhile is missed later.
        let greeted = reach(place, until.min(Instant::now() + GREETING)).and_then(|mut stream| {
            introduce(&mut stream, process, hello).map_err(broken)?;
            Ok(stream)
        });
        streams[other] = greeted.ok();
    }
    let mut missing = count - 1 - number;
    if missing > 0 {
        accept(&listener, process, until, |hello, stream| {
            let known = hellos.get(hello.number).filter(|_| hello.number > *number);
            if known.is_some_and(|known| known.place == hello.place)
                && streams[hello.number].is_none()
            {
                streams[hello.number] = Some(stream);
                missing -= 1;
            }
            (missing == 0).then_some(())
        })?;
    }
    Ok(Connected { hellos, streams, listener, places, later: false })
}
