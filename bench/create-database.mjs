/** Creates a database unless it exists. Usage: node create-database.mjs <server url> <name> */
import { Client } from "pg"

const [server, name] = process.argv.slice(2)
const client = new Client({ connectionString: server })
await client.connect()
const { rowCount } = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [name])
if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`)
await client.end()
