//! Vectors of the built-in model.

use gbrain_embed::{Embedder as _, StaticTable};

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn vectors_have_length_one_or_no_direction() {
    let table = StaticTable::built_in();
    let texts = ["a plan for the harbour", "", "\u{0}\u{fffd}", "猫", "x"];
    let vectors = table.embed(&texts).unwrap();
    assert_eq!(vectors.len(), texts.len());
    for (text, vector) in texts.iter().zip(&vectors) {
        assert_eq!(vector.len(), table.dims());
        let length = cosine(vector, vector).sqrt();
        let is_zero = vector.iter().all(|x| *x == 0.0);
        assert!(is_zero || (length - 1.0).abs() < 1e-5, "{text:?} has length {length}");
    }
    assert!(vectors[0].iter().any(|x| *x != 0.0));
    assert!(vectors[1].iter().all(|x| *x == 0.0), "nothing means nothing");
    assert_eq!(table.centre().len(), table.dims());
}

#[test]
fn similar_texts_have_near_vectors() {
    let table = StaticTable::built_in();
    let triples = [
        ("the doctor examined the patient", "a physician saw someone ill", "steel prices fell"),
        (
            "how do I cook rice",
            "boil the grains in a pot of water",
            "the court rejected the appeal",
        ),
        ("car engine failure", "the motor of the vehicle broke down", "a recital of piano music"),
        ("her holiday in Spain", "a vacation trip to Madrid", "database index compaction"),
        ("she was hired by the startup", "joined the company as an employee", "volcanic rock"),
    ];
    for (a, near, far) in triples {
        let vectors = table.embed(&[a, near, far]).unwrap();
        let (near_cosine, far_cosine) =
            (cosine(&vectors[0], &vectors[1]), cosine(&vectors[0], &vectors[2]));
        assert!(
            near_cosine > far_cosine + 0.1,
            "{a:?}: {near:?} {near_cosine:.3}, {far:?} {far_cosine:.3}"
        );
    }
}

#[test]
fn the_id_names_the_weights() {
    let id = StaticTable::built_in().id().to_owned();
    let (name, digest) = id.rsplit_once('-').unwrap();
    assert_eq!(name, "static-256");
    assert!(digest.len() == 12 && digest.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
}
