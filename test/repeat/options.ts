import { parseArgs } from 'node:util'
import type { Selection } from '../support/selection/selection.ts'

/** What runs beside the tests. */
const LOADS = ['busy', 'disk', 'stops'] as const
export type LoadName = (typeof LOADS)[number]

/** `count`: processes of `busy`, writers of `disk`, tenths of each second of `stops`. */
export interface Load {
  readonly name: LoadName
  readonly count: number
}

const MOST: Readonly<Record<LoadName, number>> = { busy: 64, disk: 16, stops: 9 }

export interface Options {
  readonly runs: number
  /** Parts of the paths of test files; all of the selection where there are none. */
  readonly patterns: readonly string[]
  readonly selection: Selection
  readonly projects: readonly string[]
  /** Tests whose names match; undefined for all. */
  readonly name: string | undefined
  readonly loads: readonly Load[]
  readonly untilFailure: boolean
  readonly minutes: number
  readonly json: boolean
}

export const USAGE = `Usage: npm run test:repeat -- N [PATTERN…] [options]

Runs the tests N times beside a load, and lists those that failed: how often, in which runs, and
the first error of each. PATTERN is part of the path of a test file.

  --select=short|long|all   the tests of npm test, of npm run test:long, or both; default short
  --project=NAME            of this project of vitest alone; more than once for several
  --name=REGEXP             tests with such names alone
  --load=LOAD[:COUNT],…     default busy:2; none for no load
                              busy   COUNT processes that compute all the time
                              disk   COUNT processes that write 16 MiB and flush them, again and again
                              stops  processes that run tests are stopped for COUNT tenths of each
                                     second, one after the other: to them the clock jumps
  --until-failure           no further run after one in which a test failed
  --minutes=N               ends after so long, be it within a run; default 120
  --json                    the list as JSON on standard output, in place of a table

Ctrl-C ends the tests and the load, and prints the list of what has run so far. The exit status is 0
if no test failed, 1 if one did, 2 for wrong options, 130 if it was ended early.

  npm run test:repeat -- 20                                       the short tests, as they were released
  npm run test:repeat -- 50 test/kernel/drift --load=busy:4,disk --until-failure
`

/** Throws with a message for the user. */
export function parseOptions(args: readonly string[]): Options | 'help' {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      select: { type: 'string', default: 'short' },
      project: { type: 'string', multiple: true, default: [] },
      name: { type: 'string' },
      load: { type: 'string', default: 'busy' },
      'until-failure': { type: 'boolean', default: false },
      minutes: { type: 'string', default: '120' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  const [runs = '', ...patterns] = positionals
  return {
    runs: wholeNumber('N', runs, 10_000),
    patterns,
    selection: parseSelection(values.select),
    projects: values.project,
    name: values.name,
    loads: values.load === 'none' ? [] : values.load.split(',').map(parseLoad),
    untilFailure: values['until-failure'],
    minutes: wholeNumber('--minutes', values.minutes, 7 * 24 * 60),
    json: values.json,
  }
}

function parseSelection(text: string): Selection {
  if (text === 'short' || text === 'long' || text === 'all') return text
  throw new Error(`--select: ${JSON.stringify(text)} is none of short, long, all`)
}

function parseLoad(text: string): Load {
  const [word = '', count, ...rest] = text.split(':')
  const name = LOADS.find((load) => load === word)
  if (name === undefined || rest.length > 0) {
    const wanted = `none, or ${LOADS.join(', ')} with a count after a colon`
    throw new Error(`--load: ${JSON.stringify(text)} is not ${wanted}`)
  }
  const usual = name === 'disk' ? 1 : 2
  return { name, count: wholeNumber(`--load=${name}`, count ?? String(usual), MOST[name]) }
}

function wholeNumber(what: string, text: string, most: number): number {
  if (/^[1-9]\d*$/.test(text) && Number(text) <= most) return Number(text)
  throw new Error(`${what}: ${JSON.stringify(text)} is not a number from 1 to ${most}`)
}
