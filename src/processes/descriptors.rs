//! Open files that processes of one host hand to each other: each listens at a socket without a file, whose name is drawn, and told
//! over links that only processes with the token have.

use super::Members;
use crate::device::Descriptor;
use crate::error::{Error, Result};
use std::time::{Duration, Instant};

/// Looks between two signs of life.
const NAP: Duration = Duration::from_micros(200);

/// Hands `own`, what each replica of this process has, by rank, to the other processes of this host, and returns what theirs have, by
/// rank. `beat` shows that this process lives, and says if the fleet has failed. All processes call it.
///
/// # Errors
/// What another process failed with, or that it is gone; [`Error::Machine`] where the system has no such sockets.
pub(crate) fn hand_over(
    members: &Members,
    own: &[Option<&Descriptor>],
    patience: Duration,
    beat: &dyn Fn() -> Result<()>,
) -> Result<Vec<Option<Descriptor>>> {
    let until = Instant::now() + patience;
    let wait = |what: &str| -> Result<()> {
        beat()?;
        if Instant::now() > until {
            return Err(Error::machine(format!("{what} within {patience:?}")));
        }
        std::thread::sleep(NAP);
        Ok(())
    };
    sockets::hand_over(members, own, &wait)
}

#[cfg(target_os = "linux")]
mod sockets {
    use super::{Descriptor, Error, Members, Result};
    use crate::device::kernels::hive::REPLICAS;
    use rustix::net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
    };
    use std::io::{ErrorKind, IoSlice, IoSliceMut};
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    const MOST: usize = REPLICAS as usize;

    fn failed(what: &str) -> impl Fn(std::io::Error) -> Error + '_ {
        move |error| Error::machine(format!("memory is not shared by processes: {what}: {error}"))
    }

    /// A socket of a name that nobody guesses.
    fn listening() -> std::io::Result<(UnixDatagram, [u8; 16])> {
        let mut name = [0; 16];
        getrandom::fill(&mut name)?;
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        socket.set_nonblocking(true)?;
        Ok((socket, name))
    }

    /// A message: the process that it is of, and which of its replicas have a file.
    fn told(process: usize, own: &[Option<&Descriptor>]) -> [u8; 8] {
        let has = own.iter().enumerate().filter(|(_, file)| file.is_some());
        let which = has.fold(0u32, |which, (place, _)| which | 1 << place);
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&(process as u32).to_le_bytes());
        bytes[4..].copy_from_slice(&which.to_le_bytes());
        bytes
    }

    pub fn hand_over(
        members: &Members,
        own: &[Option<&Descriptor>],
        wait: &dyn Fn(&str) -> Result<()>,
    ) -> Result<Vec<Option<Descriptor>>> {
        let links = &members.links;
        let (socket, name) = listening().map_err(failed("a socket"))?;
        let names = links.all("where files are handed over", name.to_vec())?;
        let here: Vec<usize> =
            links.here().into_iter().filter(|other| *other != links.number()).collect();
        let mut all: Vec<Option<Descriptor>> = (0..members.world()).map(|_| None).collect();
        let mut send: Vec<usize> = here.clone();
        let mut come = vec![false; links.count()];
        let message = told(links.number(), own);
        while !send.is_empty() || here.iter().any(|other| !come[*other]) {
            let (mut busy, mut failure) = (false, None);
            send.retain(|other| match pass(&names[*other], &message, own) {
                Ok(()) => {
                    busy = true;
                    false
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => true,
                Err(error) => {
                    failure = Some(error);
                    true
                }
            });
            if let Some(error) = failure {
                return Err(failed("sending")(error));
            }
            while let Some((bytes, files)) = receive(&socket).map_err(failed("receiving"))? {
                busy = true;
                let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[at + i]));
                let (process, which) = (number(0) as usize, number(4));
                let ranks = members.of(process);
                let places = (0..ranks.len()).filter(|place| which >> place & 1 != 0);
                if !here.contains(&process) || places.clone().count() != files.len() {
                    continue;
                }
                places.zip(files).for_each(|(place, file)| all[ranks.start + place] = Some(file));
                come[process] = true;
            }
            if !busy {
                wait("a process of this host has not handed over its memory")?;
            }
        }
        // Whoever goes on may close what it has handed over: it has arrived.
        Ok(all)
    }

    fn pass(name: &[u8], message: &[u8; 8], own: &[Option<&Descriptor>]) -> std::io::Result<()> {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?;
        let files: Vec<BorrowedFd<'_>> = own.iter().flatten().map(|file| file.as_fd()).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&files)) {
            return Err(std::io::Error::other("too many files"));
        }
        sendmsg(&socket, &[IoSlice::new(message)], &mut control, SendFlags::empty())?;
        Ok(())
    }

    /// What has come, if anything has; what makes no sense is left out.
    fn receive(socket: &UnixDatagram) -> std::io::Result<Option<([u8; 8], Vec<Descriptor>)>> {
        let mut bytes = [0; 8];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let came = match recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(came) => came,
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut files = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(some) = message {
                files.extend(some);
            }
        }
        let whole = came.bytes == 8 && !came.flags.contains(ReturnFlags::CTRUNC);
        Ok(Some((if whole { bytes } else { [u8::MAX; 8] }, files)))
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::io::{Read, Seek, Write};

        #[test]
        fn files_arrive_with_what_is_told_of_them() {
            let (socket, name) = listening().unwrap();
            assert!(receive(&socket).unwrap().is_none());
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(b"shared").unwrap();
            let file: Descriptor = file.into();
            let own = [None, Some(&file), None];
            pass(&name, &told(3, &own), &own).unwrap();
            pass(&name, &told(4, &[None]), &[None]).unwrap();
            let (bytes, mut files) = receive(&socket).unwrap().unwrap();
            assert_eq!((bytes, files.len()), ([3, 0, 0, 0, 2, 0, 0, 0], 1));
            let mut file: std::fs::File = files.remove(0).into();
            let mut text = String::new();
            file.rewind().unwrap();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "shared");
            let (bytes, files) = receive(&socket).unwrap().unwrap();
            assert_eq!((bytes, files.len()), ([4, 0, 0, 0, 0, 0, 0, 0], 0));
            assert!(receive(&socket).unwrap().is_none());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod sockets {
    use super::{Descriptor, Error, Members, Result};

    pub fn hand_over(
        _: &Members,
        _: &[Option<&Descriptor>],
        _: &dyn Fn(&str) -> Result<()>,
    ) -> Result<Vec<Option<Descriptor>>> {
        Err(Error::machine("processes share the memory of GPUs on Linux alone; use one process"))
    }
}
