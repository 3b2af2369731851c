#!/usr/bin/env node
import "./require-node.mjs"
import { entry } from "./entry.mjs"
await import(entry())
