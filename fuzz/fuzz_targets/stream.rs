//! A provider's stream: any bytes, any chunking, every format; the same events whatever the cuts. And what a refusal teaches.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tine_model::EntryId;
use tine_model::WireFormat;
use tine_wire::{
    Decoder, Dialect, Event, IdForm, LeftBlocks, LeftOut, Within, refused_block, refused_members,
};

fn decode(format: WireFormat, pieces: impl Iterator<Item = Vec<u8>>) -> (Vec<Event>, bool) {
    let mut decoder = Decoder::new(format);
    let mut events = Vec::new();
    for piece in pieces {
        match decoder.push(&piece) {
            Ok(more) => events.extend(more),
            Err(_) => break,
        }
    }
    let whole = decoder.finish().is_ok();
    let _ = decoder.partial();
    (events, whole)
}

fuzz_target!(|data: &[u8]| {
    let Some((size, bytes)) = data.split_first() else { return };
    for format in WireFormat::ALL {
        let at_once = decode(format, std::iter::once(bytes.to_vec()));
        let size = usize::from(*size).max(1);
        let in_pieces = decode(format, bytes.chunks(size).map(<[u8]>::to_vec));
        assert_eq!(at_once, in_pieces);
        let _ = tine_wire::decode_reply(format, bytes);
        let failure = tine_wire::decode_failure(format, 422, None, bytes);
        let text = String::from_utf8_lossy(bytes);
        let place = EntryId(1);
        let told = [failure.message.as_str(), &*text].into_iter().flat_map(|words| {
            let members = refused_members(words).into_iter().map(LeftOut::Member);
            let blocks = refused_block(words)
                .map(|(kind, _)| LeftOut::Blocks(LeftBlocks { kind, within: Within::UpTo(place) }));
            members.chain(blocks).chain(IdForm::read(words).map(LeftOut::Ids)).collect::<Vec<_>>()
        });
        let dialect = Dialect::without(told);
        let message = tine_wire::read_message(format, &text);
        if let Some(changed) = message.ok().and_then(|message| dialect.message(place, &message)) {
            assert_eq!(dialect.message(place, &changed), None, "left out once and for good");
        }
        let _ = failure.overflow();
        let _ = tine_wire::Overflow::read(&text);
    }
});
