import type { Cost, RequestsCell, SubjectName } from '../../report/auth/results.ts'
import type { Repeats } from '../repeats.ts'
import { type RoundCost, type Sent, type Subject, startSubject } from './subject.ts'

const SERVICES = '/api/v1/namespaces/default/services'
const SUBJECTS: readonly SubjectName[] = ['none', 'token', 'certificate', 'audited']

/**
 * What authentication and authorization add to a request: the same requests to all subjects in each
 * round, and each round begins with another one, so that what else the machine does falls on all.
 */
export async function measureRequests(
  repeats: Repeats,
  folder: string,
): Promise<readonly RequestsCell[]> {
  using held = new DisposableStack()
  const contestants: Contestant[] = []
  for (const name of SUBJECTS) {
    const subject = held.use(await startSubject(name, folder))
    contestants.push({ name, subject, created: [], read: [] })
  }
  for (let round = 0; round <= repeats.requestRounds; round++) {
    for (const { subject, created, read } of rotated(contestants, round)) {
      const costs = {
        create: await subject.measure(repeats.creates, creation(round)),
        get: await subject.measure(repeats.gets, reading(round, repeats.creates)),
      }
      // The first round warms up.
      if (round === 0) continue
      created.push(costs.create)
      read.push(costs.get)
    }
  }
  return await Promise.all(contestants.map(cellOf))
}

interface Contestant {
  readonly name: SubjectName
  readonly subject: Subject
  readonly created: RoundCost[]
  readonly read: RoundCost[]
}

/** Ends the subject. */
async function cellOf({ name, subject, created, read }: Contestant): Promise<RequestsCell> {
  const { droppedEvents } = await subject.close()
  return { subject: name, create: costOf(created), get: costOf(read), droppedEvents }
}

function costOf(rounds: readonly RoundCost[]): Cost {
  return {
    perSecond: rounds.map(({ perSecond }) => perSecond),
    cpuMicros: rounds.map(({ cpuMicros }) => cpuMicros),
  }
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

function reading(round: number, created: number): (index: number) => Sent {
  return (index) => ({ method: 'GET', path: `${SERVICES}/web-${round}-${index % created}` })
}
