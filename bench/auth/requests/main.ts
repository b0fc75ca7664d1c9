import type { Credentials } from './report.ts'
import { type Cost, type Sent, type Subject, startSubject } from './subject.ts'

/**
 * What authentication and authorization add to a request: the same requests to a server that knows no
 * users, and to servers whose client has the token of an account, or a client certificate; in rounds
 * one after the other, so that what else the machine does falls on all of them. Prints JSON.
 *
 *     scripts/node bench/auth/requests/main.ts [ROUNDS]
 */
const ROUNDS = Number(process.argv[2] ?? 9)
const CREATES = 1_000
const GETS = 5_000
const SERVICES = '/api/v1/namespaces/default/services'
const SUBJECTS: readonly Credentials[] = ['none', 'token', 'certificate']

await main()

async function main(): Promise<void> {
  const subjects = new Map<Credentials, Subject>()
  for (const how of SUBJECTS) subjects.set(how, await startSubject(how))
  const costs: Record<string, Cost[]> = {}
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [how, subject] of rotated([...subjects], round)) {
      const [create, get] = [creation(round), reading(round)]
      const created = await subject.measure(CREATES, create)
      const read = await subject.measure(GETS, get)
      // The first round warms up.
      if (round === 0) continue
      ;(costs[`create, ${how}`] ??= []).push(created)
      ;(costs[`get, ${how}`] ??= []).push(read)
    }
  }
  for (const subject of subjects.values()) await subject.close()
  const report = Object.entries(costs).map(([what, all]) => [what, summary(all)])
  process.stdout.write(`${JSON.stringify(Object.fromEntries(report), undefined, 2)}\n`)
}

function rotated<T>(items: readonly T[], by: number): readonly T[] {
  const at = by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}

function creation(round: number): (index: number) => Sent {
  return (index) => {
    const metadata = { name: `web-${round}-${index}` }
    const body = JSON.stringify({ metadata, spec: { ports: [{ port: 80 }] } })
    return { method: 'POST', path: SERVICES, body }
  }
}

function reading(round: number): (index: number) => Sent {
  return (index) => ({ method: 'GET', path: `${SERVICES}/web-${round}-${index % CREATES}` })
}

function summary(costs: readonly Cost[]) {
  return {
    cpuMicros: quartiles(costs.map(({ cpuMicros }) => cpuMicros)),
    perSecond: quartiles(costs.map(({ perSecond }) => perSecond)),
  }
}

function quartiles(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.round((sorted.length - 1) * share)] ?? 0
  return { median: at(0.5), quartiles: [at(0.25), at(0.75)] }
}
