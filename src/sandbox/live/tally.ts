import type { Reply } from '../environment/request.ts'
import type { Asked } from './screen/view.ts'

const KEPT = 100

/** The last requests, and how many there were of each kind. */
export class Tally {
  readonly #asked: Asked[] = []
  readonly answers = new Map<string, number>()
  readonly kinds = new Map<Reply['kind'], number>()

  get asked(): readonly Asked[] {
    return this.#asked
  }

  add(asked: Asked): void {
    const { reply } = asked
    this.#asked.push(asked)
    if (this.#asked.length > KEPT) this.#asked.shift()
    this.kinds.set(reply.kind, (this.kinds.get(reply.kind) ?? 0) + 1)
    if (reply.kind !== 'answered') return
    this.answers.set(reply.pod, (this.answers.get(reply.pod) ?? 0) + 1)
  }
}
