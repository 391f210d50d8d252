// Runs queries with DuckDB. In: {"setup": [SQL], "queries": [SQL]} on standard input; out: for each query
// {"columns": […], "types": […], "rows": [[…]]}. Integers of 64 bits are text. FILE…: reads these with Arrow's
// reader too, which must accept them; out: the number of rows of each.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [folder, ...files] = process.argv.slice(2)
const require = createRequire(pathToFileURL(`${folder}/package.json`))

if (files.length) {
  const arrow = require('parquet-wasm/node')
  const rows = files.map((file) => {
    const table = arrow.readParquet(new Uint8Array(fs.readFileSync(file)))
    let nr = 0
    for (const batch of table.recordBatches()) nr += batch.numRows
    return nr
  })
  console.log(JSON.stringify(rows))
} else {
  const { DuckDBInstance } = require('@duckdb/node-api')
  const { setup, queries } = JSON.parse(fs.readFileSync(0, 'utf8'))
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  for (const sql of setup) await connection.run(sql)
  const out = []
  for (const sql of queries) {
    const begin = process.hrtime.bigint()
    const reader = await connection.runAndReadAll(sql)
    out.push({
      columns: reader.columnNames(), types: reader.columnTypes().map(String), rows: reader.getRowsJson(),
      ms: Number(process.hrtime.bigint() - begin) / 1e6
    })
  }
  console.log(JSON.stringify(out))
}
