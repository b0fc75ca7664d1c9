import { type JsonObject, stringAt } from '../../../src/lib/json.ts'

/** One request of one client. */
export interface ContendedRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: JsonObject | JsonObject[]
  readonly contentType?: string
}

export interface ContendedReply {
  readonly status: number
  readonly body: JsonObject
}

/** Sends a request as the client of that number. */
export type SendAs = (client: number, request: ContendedRequest) => Promise<ContendedReply>

/** What many clients do to one object at the same time, without preconditions. */
export interface Scenario {
  readonly name: string
  /** The requests that make what exists before. */
  readonly given: readonly ContendedRequest[]
  /** The requests of one client, one after the other. */
  requests(client: number): readonly ContendedRequest[]
  /** Statuses beside 200 and 201 that the sequence of writes explains; never a 409 Conflict. */
  readonly explained?: readonly string[]
  /** The path of the object that is read in the end. */
  readonly final: string
  /** The effects of clients that the final object does not have. */
  lost(
    final: ContendedReply,
    clients: number,
    answers: readonly ContendedReply[],
  ): readonly string[]
}

/** The answers that a scenario does not explain, and the effects that are lost. */
export interface Contention {
  readonly refused: readonly string[]
  readonly lost: readonly string[]
  readonly answers: number
}

/** Runs a scenario with this number of clients at the same time. */
export async function contend(
  scenario: Scenario,
  clients: number,
  send: SendAs,
): Promise<Contention> {
  for (const request of scenario.given) {
    const { status, body } = await send(0, request)
    if (status !== 200 && status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`)
  }
  const runs = Array.from({ length: clients }, async (_, client) => {
    const answers: ContendedReply[] = []
    for (const request of scenario.requests(client)) answers.push(await send(client, request))
    return answers
  })
  const answers = (await Promise.all(runs)).flat()
  const final = await send(0, { method: 'GET', path: scenario.final })
  const explained = new Set(['200', '201', ...(scenario.explained ?? [])])
  return {
    refused: counted(answers.filter((answer) => !explained.has(outcomeOf(answer)))),
    lost: scenario.lost(final, clients, answers),
    answers: answers.length,
  }
}

/** The status, with the reason if the status alone does not distinguish refusals. */
function outcomeOf({ status, body }: ContendedReply): string {
  return status < 300 ? String(status) : `${status} ${stringAt(body, 'reason')}`
}

function counted(answers: readonly ContendedReply[]): readonly string[] {
  const texts = answers.map((one) => `${outcomeOf(one)}: ${stringAt(one.body, 'message')}`)
  const groups = Map.groupBy(texts, (text) => text)
  return [...groups].map(([text, { length }]) => `${length} times ${text}`)
}
