"""Where rows go besides topics; one file a system. Effects: `hr.sinks.email`, `hr.sinks.webhook`, `hr.sinks.call`."""

from headrace.sinks.call import NotDelivered, call
from headrace.sinks.email import email
from headrace.sinks.webhook import webhook

__all__ = ["NotDelivered", "call", "email", "webhook"]
