//! Writes an API server has carried out, from its own metrics.

use std::collections::BTreeMap;

use http::Request;
use kube::Client;

use crate::E2eError;

/// Writes by what was written, as in `POST pods/binding`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writes(BTreeMap<String, u64>);

impl Writes {
    /// All there were since the API server began.
    pub(crate) async fn read(client: &Client) -> Result<Self, E2eError> {
        let request = Request::get("/metrics").body(Vec::new()).map_err(kube::Error::HttpError);
        let doing = E2eError::call("reading the metrics of the API server");
        let text = client.request_text(request.map_err(&doing)?).await.map_err(&doing)?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut writes = BTreeMap::new();
        for line in text.lines() {
            let Some(rest) = line.strip_prefix("apiserver_request_total{") else { continue };
            let Some((labels, count)) = rest.rsplit_once("} ") else { continue };
            let verb = label(labels, "verb");
            if ["GET", "LIST", "WATCH", "CONNECT"].contains(&verb) {
                continue;
            }
            let (resource, part) = (label(labels, "resource"), label(labels, "subresource"));
            let slash = if part.is_empty() { "" } else { "/" };
            let count = count.parse::<f64>().unwrap_or(0.0) as u64;
            *writes.entry(format!("{verb} {resource}{slash}{part}")).or_default() += count;
        }
        Self(writes)
    }

    /// What came since then.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let grown = self.0.iter().map(|(what, count)| (what.clone(), count - before.of(what)));
        Self(grown.filter(|entry| entry.1 > 0).collect())
    }

    /// The same without what is not a scheduler's: pods that were made, and what the API server
    /// writes for itself.
    pub(crate) fn of_schedulers(&self) -> Self {
        let entries = self.0.iter().filter(|entry| is_of_a_scheduler(entry.0));
        Self(entries.map(|(what, count)| (what.clone(), *count)).collect())
    }

    /// How often that was written.
    pub(crate) fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// How many there were.
    pub(crate) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Each with its number.
    pub(crate) fn each(&self) -> &BTreeMap<String, u64> {
        &self.0
    }
}

/// Kinds no scheduler writes: the API server keeps a lease to show that it lives, and its settings.
const OTHERS: [&str; 4] = ["leases", "apiservices", "flowschemas", "prioritylevelconfigurations"];

fn is_of_a_scheduler(what: &str) -> bool {
    let resource = what.split_once(' ').map_or("", |(_, resource)| resource);
    let kind = resource.split('/').next().unwrap_or(resource);
    what != "POST pods" && !OTHERS.contains(&kind)
}

/// The value of a label.
fn label<'a>(labels: &'a str, name: &str) -> &'a str {
    let mut entries = labels.split("\",").filter_map(|entry| entry.split_once("=\""));
    entries.find(|entry| entry.0 == name).map_or("", |entry| entry.1.trim_end_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "\
# TYPE apiserver_request_total counter
apiserver_request_total{code=\"201\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"pods\",scope=\"resource\",subresource=\"binding\",verb=\"POST\",version=\"v1\"} 10
apiserver_request_total{code=\"201\",group=\"\",resource=\"pods\",subresource=\"\",verb=\"POST\",version=\"v1\"} 100
apiserver_request_total{code=\"200\",group=\"\",resource=\"pods\",subresource=\"\",verb=\"LIST\",version=\"v1\"} 3
";

    #[test]
    fn writes_of_schedulers_are_counted_by_what_they_wrote() {
        let before = Writes::parse(BEFORE);
        let after = "\
apiserver_request_total{code=\"201\",resource=\"pods\",subresource=\"binding\",verb=\"POST\"} 15
apiserver_request_total{code=\"409\",resource=\"pods\",subresource=\"binding\",verb=\"POST\"} 1
apiserver_request_total{code=\"201\",resource=\"pods\",subresource=\"\",verb=\"POST\"} 200
apiserver_request_total{code=\"200\",resource=\"leases\",subresource=\"\",verb=\"PUT\"} 9
apiserver_request_total{code=\"201\",resource=\"events\",subresource=\"\",verb=\"POST\"} 1e+01
";
        let grown = Writes::parse(after).since(&before);
        assert_eq!(grown.of("PUT leases"), 9);
        let grown = grown.of_schedulers();
        let each: Vec<_> =
            grown.each().iter().map(|(what, &count)| (what.as_str(), count)).collect();
        assert_eq!(each, [("POST events", 10), ("POST pods/binding", 6)]);
        assert_eq!(grown.total(), 16);
    }
}
