//! The `time` field of a record.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::time::SystemTime;

/// A moment in UTC as the HIVE phase-2 records write it, C's `ctime` with its newline:
/// `"Fri May 28 20:55:10 2021\n"`.
pub fn utc(moment: SystemTime) -> String {
    let moment = Timestamp::try_from(moment).unwrap_or_default();
    moment.strftime("%a %b %e %H:%M:%S %Y\n").to_string()
}

/// The day of a moment, seconds since 1970: `2021-05-28`.
pub(crate) fn date(moment: i64) -> String {
    Timestamp::from_second(moment).unwrap_or_default().strftime("%F").to_string()
}

/// The seconds since 1970 of what [`utc`] writes; `None` for any other text.
pub(crate) fn moment(text: &str) -> Option<i64> {
    let (_, after_weekday) = text.trim().split_once(' ')?;
    let time = DateTime::strptime("%b %e %H:%M:%S %Y", after_weekday).ok()?;
    Some(TimeZone::UTC.to_timestamp(time).ok()?.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn moments_are_written_as_ctime_writes_them_and_read_back() {
        for (seconds, text) in [
            (0, "Thu Jan  1 00:00:00 1970\n"),
            (1_622_235_310, "Fri May 28 20:55:10 2021\n"),
            (1_709_164_800, "Thu Feb 29 00:00:00 2024\n"),
            (1_709_251_199, "Thu Feb 29 23:59:59 2024\n"),
            (4_107_542_399, "Sun Feb 28 23:59:59 2100\n"),
            (4_107_542_400, "Mon Mar  1 00:00:00 2100\n"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
            assert_eq!(moment(text), Some(seconds as i64), "{text}");
        }
        for text in
            ["", "yesterday", "Fri May 28 2021", "Fri Mai 28 20:55:10 2021", "a May 99 1:1:1 2021"]
        {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
