import { createRequire } from 'node:module'
import type { buildConnector as BuildConnector, Dispatcher, Pool as UndiciPool } from 'undici'

/**
 * The parts of undici that the daemon needs, put together as its index does.
 * The index itself brings fetch, caches and web sockets along, which cost every
 * node 9 MiB. The version is pinned, and every test of this room goes through here.
 */
const require = createRequire(import.meta.url)

const dispatcher = require('undici/lib/dispatcher/dispatcher.js') as typeof Dispatcher
Object.assign(dispatcher.prototype, require('undici/lib/api/index.js'))

export const Pool = require('undici/lib/dispatcher/pool.js') as typeof UndiciPool
export type Pool = UndiciPool

export const buildConnector = require('undici/lib/core/connect.js') as typeof BuildConnector
