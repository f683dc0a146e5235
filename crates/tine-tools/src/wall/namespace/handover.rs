//! Descriptors that travel over the socket of order and report: listeners and namespaces from the inner stage to tine, and namespaces from
//! tine to the outer stage of a command that joins them. The input of a command that reads travels to the inner stage.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, sendmsg,
};
use tine_model::DESTINATIONS_MAX;

use super::network::Namespaces;

/// Most descriptors: the listeners of the proxy and of each destination. The kernel hands over at most 253 at once.
const DESCRIPTORS_MAX: usize = DESTINATIONS_MAX + 1;

/// The bytes with which listeners and namespaces travel. Reports begin with a brace.
const LISTENERS: u8 = b'L';
const NAMESPACES: u8 = b'N';

/// The one with which the input of a command travels.
const INPUT: u8 = b'I';

#[cfg(target_os = "linux")]
const RECEIVE: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const RECEIVE: RecvFlags = RecvFlags::empty();

/// Gives the listeners to whoever holds the other end. Nothing if there are none.
pub(super) fn hand_over_listeners(socket: impl AsFd, listeners: &[TcpListener]) -> io::Result<()> {
    hand_over(socket, LISTENERS, &listeners.iter().map(AsFd::as_fd).collect::<Vec<_>>())
}

/// Gives handles of namespaces to whoever holds the other end.
pub(super) fn hand_over_namespaces(socket: impl AsFd, namespaces: &Namespaces) -> io::Result<()> {
    hand_over(socket, NAMESPACES, &namespaces.handles().collect::<Vec<_>>())
}

/// Gives a command its input.
pub(super) fn hand_over_input(socket: impl AsFd, input: impl AsFd) -> io::Result<()> {
    hand_over(socket, INPUT, &[input.as_fd()])
}

/// Waits for the input of a command.
#[cfg(target_os = "linux")]
pub(super) fn await_input(socket: impl AsFd) -> io::Result<OwnedFd> {
    let received = receive(socket, INPUT, RecvFlags::empty())?;
    received.into_iter().next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn hand_over(socket: impl AsFd, mark: u8, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    if descriptors.is_empty() {
        return Ok(());
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many listeners"));
    }
    sendmsg(socket, &[IoSlice::new(&[mark])], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Takes the listeners from the other end without waiting: `WouldBlock` if nothing was sent yet, none if something else was.
pub(super) fn receive_listeners(socket: impl AsFd) -> io::Result<Vec<TcpListener>> {
    let received = receive(socket, LISTENERS, RecvFlags::DONTWAIT)?;
    Ok(received.into_iter().map(TcpListener::from).collect())
}

/// The same with namespaces; `None` if something else was sent.
pub(super) fn receive_namespaces(socket: impl AsFd) -> io::Result<Option<Namespaces>> {
    let received = receive(socket, NAMESPACES, RecvFlags::DONTWAIT)?;
    Ok((!received.is_empty()).then(|| Namespaces::new(received)))
}

/// Waits for namespaces.
#[cfg(target_os = "linux")]
pub(super) fn await_namespaces(socket: impl AsFd) -> io::Result<Namespaces> {
    Ok(Namespaces::new(receive(socket, NAMESPACES, RecvFlags::empty())?))
}

fn receive(socket: impl AsFd, mark: u8, flags: RecvFlags) -> io::Result<Vec<OwnedFd>> {
    let mut byte = [0];
    // What is something else stays where it is, such as a report of a stage that failed.
    let (length, _) = recv(&socket, &mut byte[..], RecvFlags::PEEK | flags)?;
    if length == 0 || byte != [mark] {
        return Ok(Vec::new());
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut data = [IoSliceMut::new(&mut byte)];
    recvmsg(&socket, &mut data, &mut control, RECEIVE | flags)?;
    let mut received = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            received.extend(descriptors);
        }
    }
    Ok(received)
}

/// A report without what nobody took in front of it: a quick command ends before its network is served.
pub(super) fn without_marks(report: &[u8]) -> &[u8] {
    let report = report.strip_prefix(&[NAMESPACES]).unwrap_or(report);
    report.strip_prefix(&[LISTENERS]).unwrap_or(report)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn listeners_travel_in_front_of_a_report() {
        use std::io::{Read, Write};
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let listeners = [0, 0].map(|port| TcpListener::bind(("127.0.0.1", port)).unwrap());
        assert_eq!(receive_listeners(&ours).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        hand_over_listeners(&theirs, &listeners).unwrap();
        theirs.write_all(b"{}\n").unwrap();
        let address = |listener: &TcpListener| listener.local_addr().unwrap();
        let received = receive_listeners(&ours).unwrap();
        assert!(received.iter().map(address).eq(listeners.iter().map(address)));
        assert!(receive_listeners(&ours).unwrap().is_empty(), "a report is left alone");
        let mut report = [0; 3];
        ours.read_exact(&mut report).unwrap();
        assert_eq!(&report, b"{}\n");
        assert_eq!(without_marks(b"NL{}"), b"{}");
    }
}
