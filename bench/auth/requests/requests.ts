import type { Cost, RequestsCell, SubjectName } from '../../report/auth/results.ts'
import type { Repeats } from '../repeats.ts'
import { type Sent, type Subject, startSubject, type Taken } from './subject.ts'

const SERVICES = '/api/v1/namespaces/default/services'
/** Rounds until the servers run their final optimised code. */
const WARM_UP = 3
/** Turns of a subject in one round. */
const TURNS = 20
const SUBJECTS: readonly SubjectName[] = ['none', 'ignored', 'token', 'certificate', 'audited']

/**
 * Measures what authentication and authorization add to a request, by the same requests to all subjects. A round is
 * divided into short turns, and each turn begins with another subject, so that other load affects all subjects alike.
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
  for (let round = 0; round < WARM_UP + repeats.requestRounds; round++) {
    const taken = await measureRound(contestants, round, repeats)
    if (round < WARM_UP) continue
    for (const { name, created, read } of contestants) {
      created.push(taken.get(name)?.create ?? [])
      read.push(taken.get(name)?.get ?? [])
    }
  }
  return await Promise.all(contestants.map(cellOf))
}

/** The turns of one round, by subject. */
async function measureRound(
  contestants: readonly Contestant[],
  round: number,
  { creates, gets }: Repeats,
): Promise<ReadonlyMap<SubjectName, Turns>> {
  const taken = new Map(contestants.map(({ name }): [SubjectName, Turns] => [name, newTurns()]))
  for (let turn = 0; turn < TURNS; turn++) {
    const batch = `${round}-${turn}`
    for (const { name, subject } of rotated(contestants, turn)) {
      const own = taken.get(name)
      own?.create.push(await subject.measure(creates / TURNS, creation(batch)))
      own?.get.push(await subject.measure(gets / TURNS, reading(batch, creates / TURNS)))
    }
  }
  return taken
}

interface Turns {
  readonly create: Taken[]
  readonly get: Taken[]
}

function newTurns(): Turns {
  return { create: [], get: [] }
}

interface Contestant {
  readonly name: SubjectName
  readonly subject: Subject
  /** The turns of each round. */
  readonly created: (readonly Taken[])[]
  readonly read: (readonly Taken[])[]
}

/** Ends the subject. */
async function cellOf({ name, subject, created, read }: Contestant): Promise<RequestsCell> {
  const { droppedEvents } = await subject.close()
  return { subject: name, create: costOf(created), get: costOf(read), droppedEvents }
}

/** One figure for each round, over all of its turns. */
function costOf(rounds: readonly (readonly Taken[])[]): Cost {
  const sumOf = (turns: readonly Taken[], part: keyof Taken) =>
    turns.reduce((sum, taken) => sum + taken[part], 0)
  return {
    perSecond: rounds.map((turns) => sumOf(turns, 'count') / sumOf(turns, 'seconds')),
    cpuMicros: rounds.map((turns) => (sumOf(turns, 'cpuSeconds') / sumOf(turns, 'count')) * 1e6),
  }
}

function rotated<T>(items: readonly T[], by: number): readonly T[] {
  const at = by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}

function creation(batch: string): (index: number) => Sent {
  return (index) => {
    const metadata = { name: `web-${batch}-${index}` }
    const body = JSON.stringify({ metadata, spec: { ports: [{ port: 80 }] } })
    return { method: 'POST', path: SERVICES, body }
  }
}

function reading(batch: string, created: number): (index: number) => Sent {
  return (index) => ({ method: 'GET', path: `${SERVICES}/web-${batch}-${index % created}` })
}
