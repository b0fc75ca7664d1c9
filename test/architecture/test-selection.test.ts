import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { execa } from 'execa'
import { beforeAll, expect, test } from 'vitest'
import { LONG_TESTS } from '../support/selection/long-tests.ts'
import { IPVS_TESTS, MODES_TESTS } from '../support/selection/release-tests.ts'
import { SELECTIONS, type Selection } from '../support/selection/selection.ts'
import { SLOWEST } from '../support/selection/spread-sequencer.ts'
import { root } from './source-file.ts'

/** `project path` of each file that vitest would run, by its own word. */
async function listed(selection: Selection): Promise<readonly string[]> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const { stdout } = await execa(process.execPath, [vitest, 'list', '--filesOnly', '--json'], {
    cwd: root,
    env: {
      NP_TESTS: selection === 'all' ? '' : selection,
      NP_CHART_PROGRAMS: undefined,
      NP_CLUSTER_SCRATCH: undefined,
      NP_UPSTREAM_PROGRAMS: undefined,
      NP_DASHBOARDS: undefined,
      NP_PACKAGES: undefined,
      VITEST: undefined,
    },
  })
  const files = JSON.parse(stdout) as readonly { projectName: string; file: string }[]
  return files.map(({ projectName, file }) => `${projectName} ${relative(root, file)}`).toSorted()
}

const files: Record<Selection, readonly string[]> = {
  all: [],
  short: [],
  long: [],
  modes: [],
  ipvs: [],
}

beforeAll(async () => {
  await Promise.all(
    SELECTIONS.map(async (name) => {
      files[name] = await listed(name)
    }),
  )
})

test('npm test, npm run test:long, test:modes and test:ipvs together run every file of every project once', () => {
  expect(files.short.length).toBeGreaterThan(files.long.length)
  expect([...files.short, ...files.long, ...files.modes, ...files.ipvs].toSorted()).toEqual(
    files.all,
  )
})

test('every test file of the repository belongs to a project', () => {
  const onRequest = [
    'test/{cluster,upstream}/**',
    'test/charts/**/*.charts.test.ts',
    'test/packages/**/*.packages.test.ts',
    'test/dashboards/live/**',
  ]
  const paths = globSync('{src,test,bench}/**/*.test.ts', { cwd: root, exclude: onRequest })
  const covered = new Set(files.all.map((line) => line.split(' ')[1]))
  expect(paths.filter((path) => !covered.has(path))).toEqual([])
})

test.each([
  ['long', LONG_TESTS],
  ['modes', MODES_TESTS],
  ['ipvs', IPVS_TESTS],
] as const)('every entry of the %s tests names files that its projects run', (selection, list) => {
  const lines = new Set(files[selection])
  const stale = list.flatMap(({ projects, files: globs }) =>
    projects.flatMap((project) =>
      globs
        .filter(
          (glob) => !globSync(glob, { cwd: root }).some((path) => lines.has(`${project} ${path}`)),
        )
        .map((glob) => `${project}: ${glob}`),
    ),
  )
  expect(stale).toEqual([])
})

test('no file is listed twice in one project', () => {
  const entries = [...LONG_TESTS, ...MODES_TESTS, ...IPVS_TESTS].flatMap(
    ({ projects, files: globs }) =>
      projects.flatMap((project) => globs.map((glob) => `${project} ${glob}`)),
  )
  expect(entries.filter((entry, index) => entries.indexOf(entry) < index)).toEqual([])
})

test('npm run test:unit installs nothing', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  expect(scripts['test']).toContain('scripts/setup')
  expect(scripts['test:unit']).not.toMatch(/scripts\/setup|npm/)
})

test('every file that is started first exists', () => {
  expect(SLOWEST.filter((path) => !existsSync(join(root, path)))).toEqual([])
})
