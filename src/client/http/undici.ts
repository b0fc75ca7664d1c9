import { createRequire } from 'node:module'
import type { buildConnector as BuildConnector, Dispatcher, Pool as UndiciPool } from 'undici'

/**
 * The parts of undici that the daemon needs, composed as in undici's own index. The index also loads fetch, caches and
 * web sockets, which take 9 MiB on every node. The version is pinned, and every test of this module uses these parts.
 */
const require = createRequire(import.meta.url)

const dispatcher = require('undici/lib/dispatcher/dispatcher.js') as typeof Dispatcher
Object.assign(dispatcher.prototype, require('undici/lib/api/index.js'))

export const Pool = require('undici/lib/dispatcher/pool.js') as typeof UndiciPool
export type Pool = UndiciPool

export const buildConnector = require('undici/lib/core/connect.js') as typeof BuildConnector
