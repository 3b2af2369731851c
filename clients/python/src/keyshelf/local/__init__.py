"""Decides at the product: a local client holds a snapshot of what an instance may use, answers by it, and follows the service."""
