import type { Model } from './linearize.ts'

/** What a client requests of one object. Tokens (`written`, `patched`) are given out once. */
export type ObjectInput =
  | { readonly verb: 'create'; readonly written: string }
  /** Replaces the object if it still has this version. */
  | {
      readonly verb: 'update'
      readonly version: number
      readonly written: string
      readonly patched: string
    }
  | { readonly verb: 'patch'; readonly patched: string }
  | { readonly verb: 'delete'; readonly version?: number }
  /** A get, or the part of a list that is about this object. */
  | { readonly verb: 'read' }

/** An answer. Refusals that reveal nothing about the object are not part of a history. */
export type ObjectOutput =
  | { readonly result: 'object'; readonly object: SeenObject }
  | { readonly result: 'deleted' | 'absent' | 'exists' | 'conflict' }

export interface SeenObject {
  /** The token of the create or update that wrote it. */
  readonly written: string
  /** The token of the last patch, unless an update undid that. */
  readonly patched: string
  readonly version: number
}

export interface ObjectState {
  /** Undefined: there is no object. Version 0: the server never returned it. */
  readonly object: SeenObject | undefined
  /** Every later write has a larger version. */
  readonly newest: number
}

/** One object of the API server: a register with compare and delete, whose versions only rise. */
export const objectModel: Model<ObjectState, ObjectInput, ObjectOutput> = {
  initial: { object: undefined, newest: 0 },
  fingerprint: ({ object, newest }) =>
    object === undefined ? `- ${newest}` : [...Object.values(object), newest].join(' '),
  step(state, input, output) {
    if (input.verb === 'read') return readStep(state, output)
    const effect = effectOf(state, input)
    if (output === undefined) return effect.result === 'changed' ? effect.state : undefined
    if (effect.result !== 'changed') return output.result === effect.result ? state : undefined
    const { object } = effect.state
    if (object === undefined) return output.result === 'deleted' ? effect.state : undefined
    return output.result === 'object' ? shown(effect.state, output.object) : undefined
  },
}

type Effect =
  | { readonly result: 'absent' | 'exists' | 'conflict' }
  | { readonly result: 'changed'; readonly state: ObjectState }

type Write = Exclude<ObjectInput, { verb: 'read' }>

function effectOf({ object, newest }: ObjectState, input: Write): Effect {
  const changed = (next: Omit<SeenObject, 'version'> | undefined): Effect => ({
    result: 'changed',
    state: { object: next && { ...next, version: 0 }, newest },
  })
  if (input.verb === 'create') {
    return object === undefined
      ? changed({ written: input.written, patched: '' })
      : { result: 'exists' }
  }
  if (object === undefined) return { result: 'absent' }
  if (input.verb === 'patch') return changed({ written: object.written, patched: input.patched })
  if (input.version !== undefined && input.version !== object.version) return { result: 'conflict' }
  return input.verb === 'delete'
    ? changed(undefined)
    : changed({ written: input.written, patched: input.patched })
}

function readStep(state: ObjectState, output: ObjectOutput | undefined): ObjectState | undefined {
  if (output?.result === 'absent') return state.object === undefined ? state : undefined
  return output?.result === 'object' ? shown(state, output.object) : undefined
}

/** The state after a client has seen it; undefined if the client saw something else. */
function shown({ object, newest }: ObjectState, seen: SeenObject): ObjectState | undefined {
  if (object?.written !== seen.written || object.patched !== seen.patched) return undefined
  const fits = object.version === 0 ? seen.version > newest : seen.version === object.version
  return fits ? { object: seen, newest: seen.version } : undefined
}
