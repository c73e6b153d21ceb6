//! A model on disk, where there is one: `GBRAIN_TEST_ONNX_MODEL` names its directory and
//! `GBRAIN_TEST_ONNX_RUNTIME` the runtime's library.

use std::path::Path;

use gbrain_embed::{Embedder, OnnxModel};

#[test]
fn a_sentence_transformer_stands_behind_the_same_seam() {
    let named = |name| std::env::var_os(name);
    let (Some(dir), Some(runtime)) =
        (named("GBRAIN_TEST_ONNX_MODEL"), named("GBRAIN_TEST_ONNX_RUNTIME"))
    else {
        eprintln!("SKIPPED: GBRAIN_TEST_ONNX_MODEL or GBRAIN_TEST_ONNX_RUNTIME is not set");
        return;
    };
    let model = OnnxModel::open(Path::new(&dir), Path::new(&runtime)).unwrap();
    assert!(model.id().starts_with("onnx-"), "{}", model.id());
    assert_eq!((model.dims(), model.centre().len()), (384, 384));
    let texts =
        ["the doctor examined the patient", "a physician saw someone ill", "steel prices fell"];
    let vectors = model.embed(&texts).unwrap();
    let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    assert!((cosine(&vectors[0], &vectors[0]) - 1.0).abs() < 1e-4);
    let (near, far) = (cosine(&vectors[0], &vectors[1]), cosine(&vectors[0], &vectors[2]));
    assert!(near > far + 0.05, "{near} {far}");
    // Alone or padded beside others, a text has the same vector but for rounding.
    let alone = model.embed(&texts[2..]).unwrap();
    assert!(cosine(&alone[0], &vectors[2]) > 0.999);
}

#[test]
fn invalid_models_are_refused_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |dir: &Path| {
        let opened = OnnxModel::open(dir, Path::new("/nowhere/libonnxruntime.so"));
        opened.err().unwrap().to_string()
    };
    assert!(refused(dir.path()).contains("neither model.onnx nor"), "{}", refused(dir.path()));
    std::fs::write(dir.path().join("model.onnx"), b"not a model").unwrap();
    assert!(refused(dir.path()).contains("vocab.txt"));
    std::fs::write(dir.path().join("vocab.txt"), "one\ntwo\n").unwrap();
    assert!(refused(dir.path()).contains("vocabulary is not that of BERT"));
}
