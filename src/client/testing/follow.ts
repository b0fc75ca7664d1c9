import { onTestFinished } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { modelObject } from './model-api.ts'
import type { Recorder, RecorderOptions } from './recorder.ts'
import { startRecorder } from './recorder.ts'
import type { Arrival, ScriptedServer } from './scripted-server.ts'
import { startScriptedServer } from './scripted-server.ts'

export interface FollowOptions extends Partial<RecorderOptions> {
  /** Answers the n-th request (from 0). */
  readonly answer: (arrival: Arrival, index: number) => void
}

export interface Followed {
  readonly server: ScriptedServer
  readonly recorder: Recorder
}

/** Follows a server that answers as scripted, until the test has finished. */
export async function follow({ answer, ...options }: FollowOptions): Promise<Followed> {
  let index = 0
  const server = await startScriptedServer((arrival) => answer(arrival, index++))
  const quick = { backoffBaseMs: 1, backoffMaxMs: 2 }
  const recorder = startRecorder({
    server: server.url,
    clock: systemClock,
    ...options,
    timing: { ...quick, ...options.timing },
  })
  onTestFinished(async () => {
    await recorder.stop().catch(() => undefined)
    await server.close()
  })
  return { server, recorder }
}

/** Begins a watch's answer. */
export function openStream({ response }: Arrival): void {
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
}

/** A list of objects whose specs are their keys. */
export function listOf(version: string, ...keys: readonly string[]): unknown {
  const items = keys.map((key) => modelObject(key, key, Number(version)))
  return { kind: 'List', metadata: { resourceVersion: version }, items }
}

export function queryOf({ url }: Arrival): Readonly<Record<string, string>> {
  return Object.fromEntries(url.searchParams)
}
