import type { JsonObject } from '../../../src/lib/json.ts'
import type { Listed, NamedOperation } from './history.ts'
import type { ObjectInput } from './object-model.ts'
import type { WatchLine, WatchLog } from './watch-log.ts'

/** A Service as the checks look at it. */
export function sampleService(
  name: string,
  version: number,
  written: string,
  spec: JsonObject = {},
) {
  const annotations = { 'consistency.example/written': written }
  return { metadata: { name, resourceVersion: String(version), annotations }, spec }
}

/** The empty list at version 0. */
export const NOTHING: Listed = { called: 0, answered: 0, version: 0, objects: new Map() }

/** `'ADDED a 1'`: the Service a, written as `w1` at version 1. */
export function sampleLine(text: string, spec?: JsonObject): WatchLine {
  const [type, name, version] = text.split(' ')
  const object = sampleService(name!, Number(version), `w${version}`, spec)
  return { type: type as WatchLine['type'], name: name!, version: Number(version), object }
}

export function sampleLog(...lines: readonly string[]): WatchLog {
  return { watcher: 'w', start: NOTHING, lines: lines.map((line) => sampleLine(line)) }
}

export function sampleList(version: number, ...lines: readonly string[]): Listed {
  const objects = new Map(
    lines.map((line) => [line.split(' ')[0]!, sampleLine(`ADDED ${line}`).object]),
  )
  return { called: 0, answered: 1000, version, objects }
}

/** A create answered with version `version` of the Service `name`, written as `w<version>`. */
export function sampleCreate(
  name: string,
  version: number,
  called: number,
  at: number,
): NamedOperation {
  const written = `w${version}`
  const output = { result: 'object', object: { written, patched: '', version } } as const
  return { name, client: 0, input: { verb: 'create', written }, called, answer: { at, output } }
}

export function sampleUnanswered(name: string, input: ObjectInput): NamedOperation {
  return { name, client: 0, input, called: 0, answer: undefined }
}

export function sampleDeletion(name: string): NamedOperation {
  const answer = { at: 1, output: { result: 'deleted' } } as const
  return { name, client: 0, input: { verb: 'delete' }, called: 0, answer }
}
