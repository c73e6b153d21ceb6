//! Makes what the model's first use would otherwise pay for: its id, where each piece of the
//! vocabulary stands, and a hash table over the pieces.

use std::path::Path;
use std::{env, fs};

use sha2::{Digest as _, Sha256};

#[path = "src/layout.rs"]
mod layout;
#[path = "src/slot.rs"]
mod slot;

const MODEL: &str = "model/static-256.bin";

fn main() {
    println!("cargo::rerun-if-changed={MODEL}");
    println!("cargo::rerun-if-changed=src/layout.rs");
    println!("cargo::rerun-if-changed=src/slot.rs");
    let model = fs::read(MODEL).expect("the model is part of the crate");
    let layout =
        layout::TableLayout::read(&model).expect("the model has the layout of this version");
    let out = env::var("OUT_DIR").expect("cargo names the output directory");
    let out = Path::new(&out);
    let digest: String = Sha256::digest(&model).iter().map(|b| format!("{b:02x}")).collect();
    let id = format!("static-{}-{}", layout.dims, &digest[..12]);
    fs::write(out.join("model_id.txt"), id).expect("the output directory is writable");
    let vocabulary = &model[layout.vocabulary.clone()];
    let (offsets, slots) = tables(std::str::from_utf8(vocabulary).expect("pieces are UTF-8"));
    let bytes = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    fs::write(out.join("offsets.bin"), bytes(&offsets)).expect("the output directory is writable");
    let slots: Vec<u8> = slots.iter().flat_map(|slot| slot.to_le_bytes()).collect();
    fs::write(out.join("slots.bin"), slots).expect("the output directory is writable");
}

/// Where each piece begins, and one past the last; and the hash table.
fn tables(vocabulary: &str) -> (Vec<u32>, Vec<u16>) {
    let mut offsets = vec![0];
    let mut slots = vec![slot::EMPTY; slot::COUNT];
    let mut at = 0;
    for (number, piece) in vocabulary.split('\n').enumerate() {
        at += piece.len() as u32 + 1;
        offsets.push(at);
        let number = u16::try_from(number).expect("a piece's number fits 16 bits");
        let mut place = slot::of(slot::hash(piece.as_bytes()));
        while slots[place] != slot::EMPTY {
            place = slot::next(place);
        }
        slots[place] = number;
    }
    (offsets, slots)
}
