"""One small sink each: Prometheus metrics, OpenTelemetry spans, log events."""
