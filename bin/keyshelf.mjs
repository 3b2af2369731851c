#!/usr/bin/env node
import "./require-node.mjs"
await import("../src/cli.ts")
