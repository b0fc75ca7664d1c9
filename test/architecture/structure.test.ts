import { expect, test } from 'vitest'
import { modeShares } from './mode-share.ts'
import { readSources } from './source-file.ts'
import {
  borderNames,
  circles,
  filesPerFolder,
  type Graph,
  graphOf,
  importEdges,
  importedPrograms,
  mutualFolders,
  smallPieces,
  strayTestFiles,
  upwardImports,
} from './structure.ts'
import * as limits from './structure-limits.ts'
import { MODES, SMALL_LINES } from './structure-report.ts'

const others = [...(await readSources('test')), ...(await readSources('bench'))]
const sources = await readSources('src')
const graph = graphOf(sources, others)

test('no file of src imports itself through others, types included', () => {
  expect(circles(graph.edges)).toEqual(limits.CIRCLES)
})

test('no file of src, test and bench, tests included, imports itself through others, types included', () => {
  expect(circles(importEdges([...others, ...sources]))).toEqual(limits.CIRCLES)
})

test('no two folders of a module import each other, but those of the list', () => {
  expect(mutualFolders(graph.edges)).toEqual(Object.keys(limits.MUTUAL_FOLDERS).toSorted())
})

test('imports inside a module run one way', () => {
  const upward = upwardImports(graph.edges).map(({ from, to }) => `${from} → ${to}`)
  expect(upward.slice(limits.MAX_UPWARD_IMPORTS)).toEqual([])
  expect(upward).toHaveLength(limits.MAX_UPWARD_IMPORTS)
})

test('no folder holds more files than a reader can survey, but those of the list', () => {
  const larger = [...filesPerFolder(graph)].filter(([, n]) => n > limits.MAX_FILES_IN_FOLDER)
  const listed = Object.entries(limits.LARGER_FOLDERS).map(([folder, [files]]) => [folder, files])
  expect(Object.fromEntries(larger)).toEqual(Object.fromEntries(listed))
})

test('no small file is cut off from the one that uses it, but those of today', () => {
  const small = smallPieces(graph, { maxLines: SMALL_LINES })
  expect(small.slice(limits.MAX_SMALL_PIECES)).toEqual([])
  expect(small).toHaveLength(limits.MAX_SMALL_PIECES)
})

test('modules use no more names of each other than today', () => {
  expect(borderNames(graph.files)).toBe(limits.MAX_BORDER_NAMES)
})

test('no program of src is imported, since it would run', () => {
  const all = importedPrograms([...sources, ...others])
  expect(all.filter((path) => path.startsWith('src/'))).toEqual(limits.IMPORTED_PROGRAMS)
})

test('a program that a test imports is found, and one that runs in a process of its own is not', () => {
  const files = [
    { path: 'src/a/main.ts', text: "import { b } from './b.ts'\nb()\n" },
    { path: 'src/a/b.ts', text: 'export function b(): void {}\nb()\n' },
    { path: 'src/a/c.ts', text: 'export const c = 1\n' },
    { path: 'src/a/c.test.ts', text: "import { c } from './c.ts'\nc\n" },
  ]
  expect(importedPrograms(files)).toEqual(['src/a/b.ts'])
})

test('a mode stands in its folder', () => {
  const shares = modeShares(graph, MODES)
  expect(shares.filter(({ inside }) => inside === 0)).toEqual([])
  expect(
    shares
      .filter(({ outside }) => outside > limits.MAX_LINES_OUTSIDE_OF_A_MODE)
      .map(({ outsideFiles }) => outsideFiles),
  ).toEqual([])
})

test('what only tests import lies in a folder testing', () => {
  const listed = Object.keys(limits.TEST_FILES_OUTSIDE_OF_TESTING)
  expect(strayTestFiles(graph)).toEqual(listed.toSorted())
})

/** A graph of files whose text is imports of the named targets. */
function invented(files: Readonly<Record<string, readonly string[]>>): Graph {
  const texts = Object.entries(files).map(([path, targets]) => ({
    path: `src/${path}.ts`,
    text: targets
      .map(
        (target) =>
          `import type { A } from '${'../'.repeat(path.split('/').length)}src/${target}.ts'\n`,
      )
      .join(''),
  }))
  return graphOf(texts)
}

test('a circle of three files, by types alone, is found', () => {
  const { edges } = invented({ 'a/x': ['a/y'], 'a/y': ['a/z'], 'a/z': ['a/x'], 'a/w': ['a/x'] })
  expect(circles(edges)).toEqual([['src/a/x.ts', 'src/a/y.ts', 'src/a/z.ts']])
})

test('two circles that a path connects are two', () => {
  const { edges } = invented({
    'a/p': ['a/q'],
    'a/q': ['a/p', 'a/r'],
    'a/r': ['a/s'],
    'a/s': ['a/r'],
  })
  expect(circles(edges)).toHaveLength(2)
})

test('imports that share a target are no circle', () => {
  const { edges } = invented({ 'a/x': ['a/y', 'a/z'], 'a/y': ['a/z'], 'a/z': [] })
  expect(circles(edges)).toEqual([])
})

const upAndDown = {
  'a/main': ['a/verbs/get', 'a/verbs/list', 'a/kinds/pod'],
  'a/verbs/get': ['a/kinds/pod'],
  'a/verbs/list': ['a/kinds/pod'],
  'a/kinds/pod': ['a/verbs/types'],
  'a/verbs/types': [],
}

test('folders that import each other are found, and which import runs upward', () => {
  const { edges } = invented(upAndDown)
  expect(mutualFolders(edges)).toEqual(['src/a/kinds ↔ src/a/verbs'])
  expect(upwardImports(edges)).toEqual([{ from: 'src/a/kinds/pod.ts', to: 'src/a/verbs/types.ts' }])
})

test('a circle of three folders has an upward import, though no pair is mutual', () => {
  const { edges } = invented({
    'a/one/x': ['a/two/x', 'a/two/y'],
    'a/two/x': ['a/three/x', 'a/three/y'],
    'a/three/x': [],
    'a/two/y': [],
    'a/three/y': ['a/one/z'],
    'a/one/z': [],
  })
  expect(mutualFolders(edges)).toEqual([])
  expect(upwardImports(edges)).toEqual([{ from: 'src/a/three/y.ts', to: 'src/a/one/z.ts' }])
})

test('folders of two modules are not compared: the import table is for them', () => {
  const { edges } = invented({ 'a/x': ['b/y'], 'b/y': [], 'b/z': ['a/w'], 'a/w': [] })
  expect([mutualFolders(edges), upwardImports(edges)]).toEqual([[], []])
})

test('files of a folder are counted without tests and fixtures', () => {
  const counted = graphOf([
    { path: 'src/a/main.ts', text: "import { b } from './b.ts'" },
    { path: 'src/a/b.ts', text: '' },
    { path: 'src/a/b.test.ts', text: "import { fake } from './fake.ts'" },
    { path: 'src/a/fake.ts', text: "import { b } from './b.ts'" },
  ])
  expect([...filesPerFolder(counted)]).toEqual([['src/a', 2]])
  expect(strayTestFiles(counted)).toEqual(['src/a/fake.ts'])
})

test('what starts a worker is production code, though tests alone import it', () => {
  const started = graphOf([
    { path: 'src/a/main.ts', text: "new Worker(new URL('./worker.ts', import.meta.url))" },
    { path: 'src/a/worker.ts', text: '' },
    { path: 'src/a/worker.test.ts', text: "import './worker.ts'" },
  ])
  expect(started.testOnly).toEqual([])
})

test('lines of a mode are counted inside and outside its folder', () => {
  const files = [
    { path: 'src/modes/ipvs/mode.ts', text: 'one\ntwo\n' },
    { path: 'src/nodeproxy/open-ipvs.ts', text: 'three\n' },
    { path: 'src/nodeproxy/registry.ts', text: "import { ipvs } from '../modes/ipvs/mode.ts'\n" },
    { path: 'src/nodeproxy/other.ts', text: '// not like ipvs\n' },
    { path: 'src/kernel/ipvs/codec.ts', text: 'four\n' },
  ]
  expect(modeShares({ files, edges: [], testOnly: [] }, ['ipvs'])).toEqual([
    {
      mode: 'ipvs',
      inside: 2,
      outside: 1,
      outsideFiles: ['src/nodeproxy/open-ipvs.ts'],
      namedIn: ['src/nodeproxy/registry.ts'],
    },
  ])
})

test('a small file beside its only importer is found; one of several users, of another folder, or longer is not', () => {
  const small = invented({
    'a/main': ['a/small', 'a/shared', 'a/far/x'],
    'a/small': [],
    'a/shared': [],
    'a/far/x': ['a/shared'],
  })
  expect(smallPieces(small, { maxLines: 60 })).toEqual(['src/a/small.ts'])
  const long = graphOf([
    { path: 'src/a/main.ts', text: "import { b } from './b.ts'\n" },
    { path: 'src/a/b.ts', text: 'export const b = 1\n'.repeat(3) },
  ])
  expect(smallPieces(long, { maxLines: 3 })).toEqual(['src/a/b.ts'])
  expect(smallPieces(long, { maxLines: 2 })).toEqual([])
})

test('a name counts once for each module that uses it, but not in tests, in its own module, or of a leaf', () => {
  const use = "import { x, y } from '../c/x.ts'\n"
  const sources = [
    { path: 'src/c/x.ts', text: 'export const x = 1\nexport const y = 2\n' },
    { path: 'src/c/own.ts', text: "import { x } from './x.ts'\n" },
    { path: 'src/a/leaf.ts', text: "import { x } from '../lib/x.ts'\n" },
    { path: 'src/a/one.ts', text: use },
    { path: 'src/a/two.ts', text: use },
    { path: 'src/b/three.ts', text: "import { x } from '../c/x.ts'\n" },
    { path: 'src/b/three.test.ts', text: use },
  ]
  expect(borderNames(sources)).toBe(3)
})
