import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'

const paths = workerData as readonly string[]
parentPort?.postMessage(paths.map((path) => stripTypeScriptTypes(readFileSync(path, 'utf8'))))
