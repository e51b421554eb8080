"""The alert rules and the dashboard of deploy/, with promtool. ``test_alerts_of_faults`` has them fire in a
Prometheus, by faults of a gateway.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from quoteway.web.http.metrics import Metrics

ROOT = Path(__file__).parents[1]
RULES = ROOT / "deploy/prometheus/alerts.yml"
RUNBOOK = ROOT / "docs/how-to/answer-an-alert.md"
DASHBOARD = json.loads((ROOT / "deploy/grafana/quoteway.json").read_text())
ALERTS = re.findall(r"- alert: (\w+)", RULES.read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]

CAPABILITY = 'quoteway_capability_state{network="base",capability="swap"}'
REASON = 'quoteway_capability_not_ready{{network="base",capability="{}",reason="{}"}}'
CALLS = 'quoteway_provider_outcomes_total{{capability="swap",provider="a",outcome="{}",reason="{}"}}'
ERRORS = 'quoteway_http_errors_total{{route="/v2/swaps/quote",code="upstream_error",reason="{}",fault="{}"}}'
REQUESTS = 'quoteway_http_requests_total{route="/v2/swaps/quote"}'
SECONDS = 'quoteway_provider_seconds_bucket{{capability="swap",provider="a",method="quote",le="{}"}}'

BY_ALERT = {
    # Series with two values: while the alert must fire, and after that. With "+" what a minute adds.
    "QuotewayDown": {'up{job="quoteway"}': ("0", "1")},
    "QuotewayNotReady": {"quoteway_ready": ("0", "1")},
    "QuotewayWorkersMissing": {"quoteway_workers": ("4", "4"), "quoteway_workers_ready": ("3", "4")},
    "QuotewayWorkersRestart": {'quoteway_process_start_time_seconds{worker="1"}': ("+10", "+0")},
    "QuotewayNetworkDead": {'quoteway_network_state{network="base"}': ("2", "1")},
    "QuotewayCapabilityDead": {'quoteway_network_state{network="base"}': ("1", "2"), CAPABILITY: ("2", "2")},
    "QuotewayHeadStandsStill": {REASON.format("rpc", "head_stale"): ("1", "0")},
    "QuotewayCapabilityDegraded": {REASON.format("swap", "breaker_open"): ("1", "0"), CAPABILITY: ("1", "0")},
    "QuotewayErrors": {
        'quoteway_http_requests_total{route="/readyz"}': ("+10000", "+10000"),
        REQUESTS: ("+100", "+100"),
        ERRORS.format("rpc_error", "service"): ("+10", "+0"),
        ERRORS.format("no_route", "caller"): ("+0", "+90"),
    },
    "QuotewayProviderFails": {
        CALLS.format("failed", "provider_error"): ("+60", "+1"),
        CALLS.format("no_route", "no_route"): ("+1", "+60"),
        CALLS.format("quoted", ""): ("+9", "+9"),
        CALLS.format("open", "provider_paused"): ("+600", "+600"),
    },
    "QuotewayProviderSlow": {
        SECONDS.format("1.0"): ("+0", "+0"),
        SECONDS.format("2.0"): ("+0", "+10"),
        SECONDS.format("5.0"): ("+10", "+10"),
        SECONDS.format("+Inf"): ("+10", "+10"),
    },
    "QuotewayPluginNotEnabled": {'quoteway_plugin_enabled{plugin="rpc"}': ("0", "1")},
    "QuotewayNodeOut": {'quoteway_rpc_upstream_state{network="base",upstream="one"}': ("3", "0")},
    "QuotewayStoreFails": {'quoteway_store_failures_total{store="limits"}': ("+1", "+0")},
    "QuotewayLoopBlocked": {
        'quoteway_loop_lag_seconds_bucket{le="0.1"}': ("+2300", "+2400"),
        'quoteway_loop_lag_seconds_bucket{le="0.25"}': ("+2400", "+2400"),
        'quoteway_loop_lag_seconds_bucket{le="+Inf"}': ("+2400", "+2400"),
    },
    "QuotewayFilesUsedUp": {
        'quoteway_process_open_fds{worker="0"}': ("800", "100"),
        'quoteway_process_max_fds{worker="0"}': ("1024", "1024"),
    },
    "QuotewayMemoryHigh": {'quoteway_process_resident_memory_bytes{worker="0"}': ("3000000000", "400000000")},
}
PHASE_MIN = 40
ANSWER = {"outcome": "quoted", "reason": None, "duration_s": 1.1}


def metrics_in(text):
    """The names of the core's metrics in expressions, without what the text format adds."""
    return {re.sub(r"_(bucket|sum|count|total)$", "", name) for name in re.findall(r"\bquoteway_\w+", text)}


KNOWN = {family.name for family in Metrics().registry.collect()}


def test_each_alert_has_its_page_and_the_test_of_its_rule():
    assert re.findall(r"^## (\w+)$", RUNBOOK.read_text(), re.MULTILINE) == ALERTS == list(BY_ALERT)
    runbooks = re.findall(r"runbook: (\S+)", RULES.read_text())
    assert runbooks == [f"docs/how-to/answer-an-alert.md#{alert.lower()}" for alert in ALERTS]


def test_limits_of_quantiles_are_ends_of_buckets():
    """The values of a bucket count as evenly spread: of a bucket from 1 to 2.5 s, 1.1 s were above 2 s."""
    found = re.findall(
        r"histogram_quantile\(.*?\((quoteway_\w+)_bucket.*?> ([0-9.]+)", RULES.read_text(), re.DOTALL
    )
    assert {name for name, _ in found} == {"quoteway_provider_seconds", "quoteway_loop_lag_seconds"}
    metrics = Metrics()
    metrics.called(dict.fromkeys(("capability", "provider", "method"), "a") | ANSWER)
    ends = {
        (sample.name, float(sample.labels["le"]))
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name.endswith("_bucket") and "le" in sample.labels
    }
    assert {(f"{name}_bucket", float(limit)) for name, limit in found} <= ends


def test_alerts_read_metrics_that_exist():
    rules = re.sub(r"^ *#.*$|runbook:.*$", "", RULES.read_text(), flags=re.MULTILINE)
    found = metrics_in(rules)
    assert len(found) > 10
    assert found <= KNOWN


def test_the_dashboard_reads_metrics_that_exist():
    expressions = [target["expr"] for panel in PANELS for target in panel["targets"]]
    used = metrics_in("\n".join(expressions))
    assert used <= KNOWN
    assert len(used) > 25
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    assert all(panel["datasource"]["uid"] == "${datasource}" for panel in PANELS)


def test_the_panels_of_the_dashboard_do_not_overlap():
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    cells = [
        (x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def promtool(*arguments):
    assert shutil.which("promtool"), "install prometheus (Debian)"
    done = subprocess.run(
        ["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.services
def test_prometheus_takes_the_files(tmp_path):
    promtool("check", "config", ROOT / "deploy/prometheus/prometheus.yml")
    expressions = [target["expr"] for panel in PANELS for target in panel["targets"]]
    rules = [
        {"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "5m")}
        for number, expression in enumerate(expressions)
    ]
    (tmp_path / "panels.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", tmp_path / "panels.yml")


def written(values):
    """Values of a series in promtool's notation: a phase in which an alert fires, and one in which not."""
    bad, good = values
    if not bad.startswith("+"):
        return f"{bad}+0x{PHASE_MIN - 1} {good}+0x{PHASE_MIN - 1}"
    top = int(bad) * (PHASE_MIN - 1)
    return f"0{bad}x{PHASE_MIN - 1} {top + int(good)}{good}x{PHASE_MIN - 1}"


def labelled(series):
    """A series of one replica of the scrape job."""
    name, _, labels = series.partition("{")
    own = [labels.rstrip("}"), "" if "job=" in labels else 'job="quoteway"', 'instance="one"']
    return name + "{" + ",".join(filter(None, own)) + "}"


@pytest.mark.services
@pytest.mark.parametrize("alert", ALERTS)
def test_each_alert_fires_alone_and_clears(tmp_path, alert):
    def firing(minute, count):
        return {
            "expr": 'sum by (alertname) (ALERTS{alertstate="firing"})',
            "eval_time": f"{minute}m",
            "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1}] if count else [],
        }

    series = [{"series": labelled(name), "values": written(of)} for name, of in BY_ALERT[alert].items()]
    test = {
        "interval": "1m",
        "input_series": series,
        "promql_expr_test": [firing(0, 0), firing(PHASE_MIN - 1, 1)],
    }
    if alert != "QuotewayCapabilityDead":  # that clears since another one tells the whole
        test["promql_expr_test"].append(firing(2 * PHASE_MIN - 1, 0))
    else:
        after = firing(2 * PHASE_MIN - 1, 1)
        after["exp_samples"][0]["labels"] = '{alertname="QuotewayNetworkDead"}'
        test["promql_expr_test"].append(after)
    path = tmp_path / "alerts.test.yml"
    path.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}))
    promtool("test", "rules", path)
