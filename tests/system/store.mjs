// Runs queries with DuckDB. In, a line each: {"setup": [SQL], "queries": [SQL]}; out: for each query
// {"columns": […], "types": […], "rows": [[…]]}. Integers of 64 bits are text. {"files": [PATH]}: reads these with Arrow's
// reader too, which must accept them; out: the number of rows of each. What fails: {"error": TEXT}.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import readline from 'node:readline'
import { pathToFileURL } from 'node:url'

const require = createRequire(pathToFileURL(`${process.argv[2]}/package.json`))

function count (file) {
  const table = require('parquet-wasm/node').readParquet(new Uint8Array(fs.readFileSync(file)))
  let nr = 0
  for (const batch of table.recordBatches()) nr += batch.numRows
  return nr
}

async function query (setup, queries) {
  const { DuckDBInstance } = require('@duckdb/node-api')
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const out = []
  try {
    for (const sql of setup) await connection.run(sql)
    for (const sql of queries) {
      const begin = process.hrtime.bigint()
      const reader = await connection.runAndReadAll(sql)
      out.push({
        columns: reader.columnNames(), types: reader.columnTypes().map(String), rows: reader.getRowsJson(),
        ms: Number(process.hrtime.bigint() - begin) / 1e6
      })
    }
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
  return out
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { files, setup, queries } = JSON.parse(line)
  let answer
  try {
    answer = files ? files.map(count) : await query(setup, queries)
  } catch (error) {
    answer = { error: String(error) }
  }
  console.log(JSON.stringify(answer))
}
