//! Listeners that travel from the inner stage to tine, over the socket of order and report.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::AsFd;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, sendmsg,
};
use tine_model::DESTINATIONS_MAX;

/// Most listeners: the proxy's, and one for each destination. The kernel hands over at most 253 at once.
const LISTENERS_MAX: usize = DESTINATIONS_MAX + 1;

/// The byte with which listeners travel. Reports begin with a brace.
const MARK: u8 = b'L';

#[cfg(target_os = "linux")]
const RECEIVE: RecvFlags = RecvFlags::DONTWAIT.union(RecvFlags::CMSG_CLOEXEC);
#[cfg(not(target_os = "linux"))]
const RECEIVE: RecvFlags = RecvFlags::DONTWAIT;

/// Gives the listeners to whoever holds the other end. Nothing if there are none.
pub(super) fn hand_over(socket: impl AsFd, listeners: &[TcpListener]) -> io::Result<()> {
    if listeners.is_empty() {
        return Ok(());
    }
    let descriptors: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(LISTENERS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("too many listeners"));
    }
    sendmsg(socket, &[IoSlice::new(&[MARK])], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Takes the listeners from the other end without waiting: `WouldBlock` if nothing was sent yet, none if something else was.
pub(super) fn receive(socket: impl AsFd) -> io::Result<Vec<TcpListener>> {
    let mut byte = [0];
    // A report of a stage that failed stays where it is.
    let (length, _) = recv(&socket, &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT)?;
    if length == 0 || byte != [MARK] {
        return Ok(Vec::new());
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(LISTENERS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut data = [IoSliceMut::new(&mut byte)];
    recvmsg(&socket, &mut data, &mut control, RECEIVE)?;
    let mut listeners = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            listeners.extend(descriptors.map(TcpListener::from));
        }
    }
    Ok(listeners)
}

/// A report without what nobody took in front of it: a quick command ends before its network is served.
pub(super) fn without_mark(report: &[u8]) -> &[u8] {
    report.strip_prefix(&[MARK]).unwrap_or(report)
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
        assert_eq!(receive(&ours).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        hand_over(&theirs, &listeners).unwrap();
        theirs.write_all(b"{}\n").unwrap();
        let address = |listener: &TcpListener| listener.local_addr().unwrap();
        let received = receive(&ours).unwrap();
        assert!(received.iter().map(address).eq(listeners.iter().map(address)));
        assert!(receive(&ours).unwrap().is_empty(), "a report is left alone");
        let mut report = [0; 3];
        ours.read_exact(&mut report).unwrap();
        assert_eq!(&report, b"{}\n");
        assert_eq!(without_mark(b"L{}"), b"{}");
    }
}
