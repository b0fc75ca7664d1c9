import { channel } from 'node:diagnostics_channel'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'
import { instrument } from './instrument.ts'

/**
 * Loaded before a program (`--import`): writes the files that a walk enters, in order, to the path
 * of the header `x-walk`. The walk is the request itself; with `x-walk-from: response` it begins when
 * its answer is sent, and ends with the request whose `x-walk-end` is `1`, or whose method and path
 * match `x-walk-until`. Where WALK_FILE is set, the whole program is one walk.
 */
interface Walk {
  readonly file: string
  readonly until: RegExp | undefined
  readonly entered: string[]
}

const whole = process.env['WALK_FILE']
const recording: { walk: Walk | undefined; last: string } = {
  walk: whole === undefined ? undefined : { file: whole, until: undefined, entered: [] },
  last: '',
}

Object.assign(globalThis, {
  recordEntered(path: string) {
    if (recording.walk === undefined || path === recording.last) return
    recording.last = path
    recording.walk.entered.push(path)
  },
})

function begin(request: IncomingMessage): void {
  const until = request.headers['x-walk-until']
  recording.last = ''
  recording.walk = {
    file: String(request.headers['x-walk']),
    until: until === undefined ? undefined : new RegExp(String(until)),
    entered: [],
  }
}

function end(): void {
  if (recording.walk === undefined) return
  writeFileSync(recording.walk.file, JSON.stringify(recording.walk.entered))
  recording.walk = undefined
}

channel('http.server.request.start').subscribe((message) => {
  const { request } = message as { readonly request: IncomingMessage }
  if (request.headers['x-walk-end'] !== undefined) end()
  else if (request.headers['x-walk'] !== undefined && !request.headers['x-walk-from'])
    begin(request)
})

channel('http.server.response.finish').subscribe((message) => {
  const { request } = message as { readonly request: IncomingMessage }
  const { walk } = recording
  if (walk?.until?.test(`${request.method} ${request.url}`)) end()
  else if (request.headers['x-walk'] !== undefined && walk === undefined) begin(request)
  else if (request.headers['x-walk'] !== undefined && walk?.until === undefined) end()
})

process.once('exit', end)

const base = process.env['WALK_BASE'] ?? ''

if (isMainThread) {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const path = url.startsWith('file:') ? fileURLToPath(url) : ''
      if (!path.startsWith(`${base}/src/`) || !path.endsWith('.ts')) return loaded
      const name = path.slice(base.length + 1)
      const enter = `globalThis.recordEntered(${JSON.stringify(name)})`
      return { ...loaded, source: instrument(path, readFileSync(path, 'utf8'), enter) }
    },
  })
}
