//! Faults in a brain: planted where they would be, in its store, its index, its settings or its models.

use anyhow::{Result, ensure};
use fastrand::Rng;
use gbrain_testkit::process::Gbrain;
use serde_json::json;

use super::kind::Kind;
use super::models::{Models, Trouble};
use super::vectors;
use super::vocabulary::unseen_words;
use super::world::{
    Asked, Filtered, Note, SOURCE, Style, TriageBrain, import_queries, ok, text_of, words,
    write_page, write_suite,
};

/// A brain with a fault.
pub struct FaultyBrain {
    pub home: Gbrain,
    /// The models that it asks, if it asks any.
    pub models: Option<Models>,
}

/// A copy of a world, and what is done to it.
struct Plant<'w> {
    world: &'w TriageBrain,
    home: Gbrain,
    rng: &'w mut Rng,
}

/// Plants a fault in a copy of a world.
pub fn plant(world: &TriageBrain, kind: Kind, rng: &mut Rng) -> Result<FaultyBrain> {
    let home = world.copy()?;
    let plant = Plant { world, home, rng };
    plant.fault(kind)
}

impl Plant<'_> {
    fn fault(mut self, kind: Kind) -> Result<FaultyBrain> {
        let mut models = None;
        match kind {
            Kind::VectorsDropped => self.vectors(vectors::drop_rows)?,
            Kind::VectorsShuffled => self.vectors(vectors::shuffle_rows)?,
            Kind::VectorsOfAnother => vectors::replace_all(self.home.home(), self.rng)?,
            Kind::NewWords => self.new_words()?,
            Kind::ModelGone => self.model_gone()?,
            Kind::ThresholdRaised | Kind::ThresholdAboveAll => models = Some(self.threshold(kind)?),
            Kind::PageDeleted => self.each(Self::is_any, &|own, note| {
                ok(&own.home, &["delete", &key(note), "--quiet"])
            })?,
            Kind::PassagesLost => self.passages_lost()?,
            Kind::TextReplaced => self.each(Self::is_any, &|own, note| {
                let other = &own.world.notes[(number(note) + 1) % own.world.notes.len()];
                own.put(note, &note.text_about(&words(&other.things, 3)))
            })?,
            Kind::TextCut => self.each(Self::is_long, &|own, note| {
                let text = note.text();
                let end = text.find("## Matter").unwrap_or(text.len());
                own.put(note, &text[..end])
            })?,
            Kind::OtherSource => self.each(Self::is_any, &|own, note| {
                ok(&own.home, &["delete", &key(note), "--quiet"])?;
                own.put_in("elsewhere", note, &note.text())
            })?,
            Kind::Hidden => self.each(Self::is_any, &|own, note| {
                own.put(note, &note.text().replacen("---\n", "---\nvisibility: private\n", 1))
            })?,
            Kind::WrongType => {
                self.each(|one, _| one.filtered == Filtered::Type, &|own, note| {
                    own.put(
                        note,
                        &note.text().replace(&format!("type: {}", note.kind), "type: draft"),
                    )
                })?
            }
            Kind::WrongTags => self
                .each(|one, _| one.filtered == Filtered::Tag, &|own, note| {
                    own.put(note, &note.text().replace(note.tag, "untagged"))
                })?,
            Kind::WrongDate => self
                .each(|one, _| one.filtered == Filtered::Date, &|own, note| {
                    own.put(note, &note.text().replace("date: 2026-", "date: 1970-"))
                })?,
            Kind::RerankerDown | Kind::EmbedderDown => models = Some(self.models_down(kind)?),
            Kind::Distractors => self.distract(12..30)?,
            Kind::Crowd => self.distract(60..90)?,
            Kind::RerankPrefers => {
                self.distract(11..20)?;
                models = Some(Models::start(self.home.home(), Trouble::None)?);
                self.set("models.rerank", "jina:m")?;
            }
            Kind::CutRatio => {
                let ratio = 0.96 + 0.03 * self.rng.f64();
                self.set("search.cut_ratio", &format!("{ratio:.3}"))?;
            }
            Kind::WeightlessVectors => self.set("search.vectors_weight", "0")?,
            kind => anyhow::bail!("{kind} is not a fault of a brain"),
        }
        Ok(FaultyBrain { home: self.home, models })
    }

    fn is_any(_: &Asked, _: &Note) -> bool {
        true
    }

    fn is_long(_: &Asked, note: &Note) -> bool {
        note.is_long
    }

    /// Some questions, at least two, of those that a fault can be about.
    fn victims(&mut self, fits: impl Fn(&Asked, &Note) -> bool) -> Result<Vec<Asked>> {
        let notes = &self.world.notes;
        let fit = self.world.asked.iter().filter(|one| fits(one, &notes[one.note]));
        let mut fit: Vec<Asked> = fit.cloned().collect();
        ensure!(fit.len() >= 2, "no two questions fit");
        self.rng.shuffle(&mut fit);
        fit.truncate(self.rng.usize(2..=fit.len().min(6)));
        Ok(fit)
    }

    /// Does something to the notes of some questions.
    fn each(
        &mut self,
        fits: impl Fn(&Asked, &Note) -> bool,
        act: &dyn Fn(&Self, &Note) -> Result<()>,
    ) -> Result<()> {
        for victim in self.victims(fits)? {
            act(self, &self.world.notes[victim.note])?;
        }
        Ok(())
    }

    fn put(&self, note: &Note, text: &str) -> Result<()> {
        self.put_in(SOURCE, note, text)
    }

    fn put_in(&self, source: &str, note: &Note, text: &str) -> Result<()> {
        let args = ["put", &note.slug, "--source", source, "--quiet"];
        let done = self.home.run_with_input(&args, text)?;
        ensure!(done.complaint().is_none(), "{:?}", done.complaint());
        Ok(())
    }

    fn set(&self, name: &str, value: &str) -> Result<()> {
        ok(&self.home, &["config", "set", name, value])
    }

    /// Damages the vectors of notes that only meaning finds.
    fn vectors(
        &mut self,
        damage: fn(&std::path::Path, &[String], &mut Rng) -> Result<()>,
    ) -> Result<()> {
        let victims = self.victims(|one, _| one.style == Style::Other)?;
        let texts: Vec<String> =
            victims.iter().map(|one| self.world.notes[one.note].text()).collect();
        damage(self.home.home(), &texts, self.rng)
    }

    /// New notes in unheard-of words, and questions about them in words that people use.
    fn new_words(&mut self) -> Result<()> {
        let mut lines = Vec::new();
        for at in 0..self.rng.usize(3..=6) {
            let like = self.rng.usize(..self.world.notes.len());
            let like = Note { is_long: false, ..self.world.notes[like].clone() };
            let note = Note { slug: format!("fresh/f{at:03}"), ..like };
            let [a, b, c] = unseen_words(self.rng.u64(..));
            self.put(&note, &note.text_about(&[&a, &b, &c]))?;
            let asked = words(&note.things, 0).join(" ");
            lines.push(json!({
                "id": format!("fresh{at}"), "query": format!("{asked} lately"), "source": SOURCE,
                "expected": [key(&note)],
            }));
        }
        write_suite(&self.home, self.world.asked.len() + lines.len())?;
        import_queries(&self.home, &lines)
    }

    /// A reranker, and a threshold that is too high for questions in mixed words, or for all.
    fn threshold(&mut self, kind: Kind) -> Result<Models> {
        let models = Models::start(self.home.home(), Trouble::None)?;
        self.set("models.rerank", "jina:m")?;
        let threshold = match kind {
            Kind::ThresholdRaised => 0.68 + 0.3 * self.rng.f64(),
            _ => 0.05 + 0.25 * self.rng.f64(),
        };
        self.set("search.rerank_threshold", &format!("{threshold:.3}"))?;
        Ok(models)
    }

    fn models_down(&mut self, kind: Kind) -> Result<Models> {
        let trouble = [Trouble::Status(500), Trouble::Status(503), Trouble::Garbage, Trouble::Cut];
        let trouble = trouble[self.rng.usize(..trouble.len())];
        if kind == Kind::RerankerDown {
            let models = Models::start(self.home.home(), trouble)?;
            self.set("models.rerank", "jina:m")?;
            return Ok(models);
        }
        let models = Models::embedding(self.home.home(), trouble)?;
        self.home.remove_index()?;
        ok(&self.home, &["reindex", "--quiet"])?;
        models.fail();
        Ok(models)
    }

    /// The index is made with a model that is then taken away.
    fn model_gone(&self) -> Result<()> {
        let models = Models::embedding(self.home.home(), Trouble::None)?;
        self.home.remove_index()?;
        ok(&self.home, &["reindex", "--quiet"])?;
        drop(models);
        Ok(std::fs::remove_file(self.home.home().join("config.json"))?)
    }

    /// Rows of passages are gone, and the index is made of what is left.
    fn passages_lost(&mut self) -> Result<()> {
        let victims = self.victims(Self::is_any)?;
        let db = rusqlite::Connection::open(self.home.home().join("brain.db"))?;
        for victim in &victims {
            let note = &self.world.notes[victim.note];
            let sql = "DELETE FROM chunks WHERE (page_id, version) IN \
                       (SELECT page_id, version FROM pages WHERE slug = ?1) AND ordinal >= ?2";
            // Of a long one what it begins with stays.
            db.execute(sql, rusqlite::params![note.slug, i64::from(note.is_long)])?;
        }
        drop(db);
        self.home.remove_index()
    }

    /// New notes that say what some questions ask, in their words.
    fn distract(&mut self, count: std::ops::Range<usize>) -> Result<()> {
        let victims = self.victims(|one, _| one.style == Style::Other)?;
        let dir = tempfile::tempdir()?;
        for victim in victims {
            let note = &self.world.notes[victim.note];
            for at in 0..self.rng.usize(count.clone()) {
                let slug = format!("copies/{}-{at:03}", victim.id);
                let copy = Note { slug: slug.clone(), is_long: false, ..note.clone() };
                let said = copy.text_about(&words(&note.things, 0));
                let unlike = unseen_words(self.rng.u64(..)).join(" ");
                write_page(dir.path(), &slug, &format!("{said}\n{} {unlike}.\n", victim.text))?;
            }
        }
        ok(&self.home, &["import", text_of(dir.path())?, "--source", SOURCE, "--quiet"])
    }
}

/// A note's name with its source.
fn key(note: &Note) -> String {
    format!("{SOURCE}::{}", note.slug)
}

fn number(note: &Note) -> usize {
    note.slug.rsplit('n').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
