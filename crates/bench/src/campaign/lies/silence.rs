//! Contradictions that are passed over in silence: by a judge that catches too little, by too few planted pairs,
//! or by a rule that leaves pairs out.

use super::case::{Allowed, Attempt, Case, Class};
use super::scene::Scene;

/// Two notes that can't both be so, and the question that finds them.
const OBVIOUS: &[(&str, &str, &str)] = &[
    ("a door", "The cellar door is open.", "The cellar door is closed."),
    ("a weekday", "The harbour meeting is on Monday.", "The harbour meeting is on Friday."),
    ("children", "Ada Quill has two children.", "Ada Quill has three children."),
    ("a founding", "Harborline was founded in 1999.", "Harborline was founded in 2004."),
    ("an owner", "Ada Quill owns the ferry.", "Bruno Vance owns the ferry."),
    ("a role", "Ada Quill is CTO of Tidewell.", "Bruno Vance is CTO of Tidewell."),
    ("a birthplace", "Ada Quill was born in Graz.", "Ada Quill was born in Oslo."),
    ("a denial", "Ada Quill signed the lease.", "Ada Quill never signed the lease."),
];

pub fn cases() -> Vec<Case> {
    let obvious = OBVIOUS.iter().map(|(name, one, other)| {
        let attempts = vec![
            Attempt::refused("eval suspected-contradictions --query").with(one),
            Attempt::refused("eval suspected-contradictions --json --query").with(one),
        ];
        Case::new(
            Class::Silence,
            format!("contradiction about {name}"),
            attempts,
            move |scene, _| planted(scene, &[one, other]),
        )
    });
    let few = [1, 2, 3, 5].into_iter().map(|canaries| {
        let command = format!("eval suspected-contradictions --canaries {canaries} --query");
        let attempts = vec![Attempt::refused(&command).with("the weather in the north")];
        let name = format!("a judge that was tried on {canaries} planted pairs");
        Case::new(Class::Silence, name, attempts, |scene, _| {
            planted(
                scene,
                &["The weather in the north is mild.", "The weather in the north is fair."],
            )
        })
    });
    few.chain(obvious).chain([left_out()]).collect()
}

/// Pairs of different times are not judged: the report counts them or has no verdict.
fn left_out() -> Case {
    let told = Allowed::Told(&["different times"]);
    let attempts = vec![
        Attempt::new("eval suspected-contradictions --query", told).with("the crane at the pier"),
    ];
    Case::new(Class::Silence, "pairs that the date rule leaves out", attempts, |scene, _| {
        planted(
            scene,
            &[
                "The crane at the pier was painted red in 2011.",
                "The crane at the pier was painted blue in 2019.",
            ],
        )
    })
}

fn planted(scene: &mut Scene, texts: &[&str]) -> anyhow::Result<()> {
    for (at, text) in texts.iter().enumerate() {
        scene.write(&format!("planted/p{at}.md"), format!("{text}\n"))?;
    }
    scene.ok(&["import", "planted", "--source", "planted", "-q"]).map(|_| ())
}
