//! What no error message shows: some providers repeat the key of a request in their errors.

use crate::secret::Secret;
use crate::text::find;

/// What stands in place of a secret.
const MASK: &str = "[key]";
/// Bytes of the shortest secret: what is shorter may be a part of any word.
const SHORTEST: usize = 6;

/// Masks the secrets in a text, also one of which the end of the text has only the beginning,
/// because messages of providers are cut.
pub(super) fn mask(text: &mut String, secrets: &[Secret]) {
    for secret in secrets.iter().filter(|secret| secret.len() >= SHORTEST) {
        let (mut shown, mut from) = (String::new(), 0);
        let rest = |from: usize| text.get(from..).unwrap_or_default();
        while let Some(at) = find(rest(from), secret) {
            shown.push_str(text.get(from..from + at).unwrap_or_default());
            shown.push_str(MASK);
            from += at + secret.len();
        }
        let ends =
            |bytes: &usize| secret.get(..*bytes).is_some_and(|cut| rest(from).ends_with(cut));
        let cut = (SHORTEST..secret.len()).rev().find(ends);
        shown.push_str(text.get(from..text.len() - cut.unwrap_or_default()).unwrap_or_default());
        shown.push_str(cut.map_or("", |_| MASK));
        *text = shown;
    }
}

#[cfg(test)]
mod tests {
    use super::mask;
    use crate::secret::Secret;

    #[test]
    fn secrets_are_masked() {
        let secrets = ["sk-abcdef", "tiny", "sk-abc-é-x", ""].map(Secret::from);
        for (given, shown) in [
            ("no such key", "no such key"),
            ("sk-abcdef", "[key]"),
            ("a sk-abcdefsk-abcdef b sk-abcdef.", "a [key][key] b [key]."),
            ("tiny", "tiny"),
            ("é sk-abc-é-x é", "é [key] é"),
            ("cut: sk-abcde", "cut: [key]"),
            ("cut: sk-abc-é", "cut: [key]"),
            ("cut: sk-ab", "cut: sk-ab"),
            ("sk-absk-abcd", "sk-ab[key]"),
        ] {
            let mut text = given.to_owned();
            mask(&mut text, &secrets);
            assert_eq!(text, shown);
        }
    }
}
