import type { Reply } from '../environment/request.ts'
import type { SentRequest } from './screen/view.ts'

const KEPT = 100

/** The last requests, and how many there were of each kind. */
export class Tally {
  readonly #sent: SentRequest[] = []
  readonly answers = new Map<string, number>()
  readonly kinds = new Map<Reply['kind'], number>()

  get sent(): readonly SentRequest[] {
    return this.#sent
  }

  add(sent: SentRequest): void {
    const { reply } = sent
    this.#sent.push(sent)
    if (this.#sent.length > KEPT) this.#sent.shift()
    this.kinds.set(reply.kind, (this.kinds.get(reply.kind) ?? 0) + 1)
    if (reply.kind !== 'answered') return
    this.answers.set(reply.pod, (this.answers.get(reply.pod) ?? 0) + 1)
  }
}
