//! The `time` field of a record.

use std::time::{SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A moment in UTC as the HIVE phase-2 records write it, C's `ctime` with its newline:
/// `"Fri May 28 20:55:10 2021\n"`.
pub fn utc(moment: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{} {} {day:>2} {:02}:{:02}:{:02} {year}\n",
        DAYS[(days % 7) as usize],
        MONTHS[month as usize - 1],
        second / 3600,
        second / 60 % 60,
        second % 60,
    )
}

/// The day of a moment, seconds since 1970: `2021-05-28`.
pub(crate) fn date(moment: u64) -> String {
    let (year, month, day) = civil(moment / 86_400);
    format!("{year}-{month:02}-{day:02}")
}

/// The seconds since 1970 of what [`utc`] writes; `None` for any other text.
pub fn moment(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let &[_, month, day, clock, year] = words.as_slice() else { return None };
    let month = 1 + MONTHS.iter().position(|name| *name == month)? as u64;
    let (day, year): (u64, u64) = (day.parse().ok()?, year.parse().ok()?);
    let mut clock = clock.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if !(1970..10_000).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    // Days by the same cycles as below, the other way round (`days_from_civil`).
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era, month) = (year / 400, year % 400, (month + 9) % 12);
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Year, month and day of a day counted from 1970-01-01, by counting from 0000-03-01 in cycles of 400
/// years (H. Hinnant, chrono-compatible low-level date algorithms, `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (400 * era + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_written_reads_back() {
        for seconds in [0, 1_622_235_310, 1_709_164_800, 4_107_542_399, 4_107_542_400] {
            let text = utc(UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(moment(&text), Some(seconds), "{text}");
        }
        for text in
            ["", "yesterday", "Fri May 28 2021", "Fri Mai 28 20:55:10 2021", "a May 99 1:1:1 2021"]
        {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    #[test]
    fn moments_are_written_as_ctime_writes_them() {
        let at = |seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "Thu Jan  1 00:00:00 1970\n");
        assert_eq!(at(1_622_235_310), "Fri May 28 20:55:10 2021\n");
        assert_eq!(at(1_709_164_800), "Thu Feb 29 00:00:00 2024\n");
        assert_eq!(at(1_709_251_199), "Thu Feb 29 23:59:59 2024\n");
        assert_eq!(at(4_107_542_399), "Sun Feb 28 23:59:59 2100\n");
        assert_eq!(at(4_107_542_400), "Mon Mar  1 00:00:00 2100\n");
    }
}
