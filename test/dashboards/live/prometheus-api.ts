import type { Agent } from '../../../src/sandbox/agent/agent.ts'

const TIMEOUT_MS = 30_000
/** The time of a range query, in seconds, and its step. */
const RANGE = { seconds: 60, step: 5 }

/** One series of an answer, with the values that are numbers. */
export interface AnsweredSeries {
  readonly labels: Readonly<Record<string, string>>
  readonly numbers: readonly number[]
}

export interface ActiveRule {
  readonly name: string
  readonly health: string
  readonly lastError?: string
}

type Sample = readonly [time: number, value: string]

interface ResultSeries {
  readonly metric: Readonly<Record<string, string>>
  readonly value?: Sample
  readonly values?: readonly Sample[]
}

/** The HTTP API of a Prometheus, which an agent reaches from its namespace. Every method rejects with what it answers. */
export class PrometheusApi {
  readonly #agent: Agent
  readonly #origin: string

  constructor(agent: Agent, origin: string) {
    this.#agent = agent
    this.#origin = origin
  }

  /** The series of an expression now. */
  async query(expr: string): Promise<readonly AnsweredSeries[]> {
    return this.#series('query', { query: expr })
  }

  /** Its series within the last minute. */
  async queryRange(expr: string): Promise<readonly AnsweredSeries[]> {
    const end = Date.now() / 1_000
    const [start, step] = [end - RANGE.seconds, RANGE.step]
    return this.#series('query_range', { query: expr, start, end, step })
  }

  /** The values of a label among the series that match a selector. */
  async labelValues(label: string, match: string): Promise<readonly string[]> {
    return this.#get<readonly string[]>(`label/${label}/values`, { 'match[]': match })
  }

  /** Every rule that is loaded. */
  async rules(): Promise<readonly ActiveRule[]> {
    const { groups } = await this.#get<{
      readonly groups: readonly { readonly rules: readonly ActiveRule[] }[]
    }>('rules', {})
    return groups.flatMap(({ rules }) => rules)
  }

  async #series(
    path: string,
    parameters: Readonly<Record<string, string | number>>,
  ): Promise<readonly AnsweredSeries[]> {
    const { result } = await this.#get<{ readonly result: readonly ResultSeries[] }>(
      path,
      parameters,
    )
    return result.map(({ metric, value, values = value === undefined ? [] : [value] }) => ({
      labels: metric,
      numbers: values.map(([, text]) => Number(text)).filter(Number.isFinite),
    }))
  }

  async #get<T>(path: string, parameters: Readonly<Record<string, string | number>>): Promise<T> {
    const words = Object.entries(parameters).map(
      ([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`,
    )
    const url = `${this.#origin}/api/v1/${path}?${words.join('&')}`
    const answer = await this.#agent.send({ url, timeoutMs: TIMEOUT_MS })
    if (answer.kind !== 'answered') throw new Error(`Prometheus: ${JSON.stringify(answer)}: ${url}`)
    if (answer.status !== 200) throw new Error(`Prometheus: ${answer.status}: ${answer.body}`)
    return (JSON.parse(answer.body) as { readonly data: T }).data
  }
}
