import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { catalogue, storedResources } from '../../src/apiserver/kinds/catalogue.ts'
import { validateObject } from '../../src/apiserver/resource/object-rules.ts'
import { apiVersionOf, type Resource } from '../../src/apiserver/resource/resource.ts'
import { messageOf } from '../../src/apiserver/schema/schema.ts'
import { importsOf } from './module-import.ts'
import { isTest, readSources, root } from './source-file.ts'
import { nameOf, parse, walk } from './syntax.ts'

const KINDS = 'src/apiserver/kinds'

/** Folders beside those of kinds. */
const COMMON = ['shared', 'testing']

/** Files that must name kinds: the composition of the server. */
const COMPOSITION = ['src/apiserver/api-server.ts', 'src/apiserver/main.ts']

/** Facts about messages, API groups and audit, whose names some kinds share. */
const TABLES = [
  'src/apiserver/audit/audit-event.ts',
  'src/apiserver/audit/read-policy.ts',
  'src/apiserver/openapi/constraints.ts',
  'src/apiserver/schema/schema.ts',
]

/** Files beside those of kinds. */
const OTHERS = ['catalogue.ts', 'token-objects.ts']

/** The file of each kind: `<kind>.ts`, or `resource.ts` in the folder of one that has more files. */
const declarations = new Map(
  readdirSync(join(root, KINDS), { withFileTypes: true }).flatMap((entry) => {
    const { name } = entry
    if (entry.isDirectory()) return COMMON.includes(name) ? [] : [[name, `${name}/resource.ts`]]
    if (!name.endsWith('.ts') || isTest(name) || OTHERS.includes(name)) return []
    return [[name.slice(0, -'.ts'.length), name]]
  }) as readonly (readonly [string, string])[],
)

const declared = new Map(
  await Promise.all(
    [...declarations].map(async ([kind, path]) => {
      const exported: unknown = await import(join(root, KINDS, path))
      return [kind, Object.values(Object(exported)).filter(isResource)] as const
    }),
  ),
)

const sources = (await readSources('src/apiserver')).filter(({ path }) => !isTest(path))

/** Code that works for every kind: all of the server but kinds, background and composition. */
const generic = sources.filter(
  ({ path }) =>
    !COMPOSITION.includes(path) &&
    ![`${KINDS}/`, 'src/apiserver/background/', 'src/apiserver/testing/'].some((folder) =>
      path.startsWith(folder),
    ),
)

test.each([...declarations])('%s is declared in %s', (name) => {
  expect(declared.get(name)!.map(({ kind }) => kind)).not.toEqual([])
})

test('the catalogue has the resources of all kinds, and no others', () => {
  const names = [...declared.values()].flat().map(({ plural }) => plural)
  expect(catalogue.map(({ plural }) => plural).toSorted()).toEqual(names.toSorted())
  expect(new Set(names).size).toBe(names.length)
})

test.each(storedResources.map((one) => [one.kind, one] as const))(
  '%s has columns, validation, and a schema for OpenAPI and protobuf',
  (kind, resource) => {
    expect(resource.columns.length).toBeGreaterThan(1)
    expect(validateObject(resource, {})).not.toEqual([])
    const missing = resource.versions
      .flatMap((version) => [kind, `${kind}List`].map((name) => [apiVersionOf(version), name]))
      .filter(([version, name]) => messageOf(version!, name!) === undefined)
    expect(missing).toEqual([])
  },
)

test.each(
  catalogue.filter(({ review }) => review !== undefined).map((one) => [one.kind, one] as const),
)('%s is answered, and has a schema', (kind, { versions }) => {
  const unknown = versions.filter((one) => messageOf(apiVersionOf(one), kind) === undefined)
  expect([versions.length > 0, unknown]).toEqual([true, []])
})

test('each kind that the daemon watches has a decoder', async () => {
  const watch = (await readSources('src/watch')).filter(({ path }) => !isTest(path))
  const decoders = watch
    .flatMap(importsOf)
    .filter(({ target }) => target.startsWith('src/resources/'))
    .flatMap(({ names }) => names.filter((name) => /^decode[A-Z]/.test(name)))
  const kinds = new Set(decoders.map((name) => name.slice('decode'.length)))
  expect([...kinds].toSorted()).toEqual([
    'EndpointSlice',
    'Endpoints',
    'Node',
    'Service',
    'ServiceCIDR',
  ])
  const served = catalogue.map(({ kind }) => kind)
  expect([...kinds].filter((kind) => !served.includes(kind))).toEqual([])
})

test('a kind imports another one only by the file that declares it', () => {
  const faults = sources.flatMap(importsOf).filter(({ from, target }) => {
    const [above, below] = [kindOf(from), kindOf(target)]
    const isForeign = above !== undefined && below !== undefined && above !== below
    return isForeign && !COMMON.includes(below) && !target.endsWith(`/${declarations.get(below)}`)
  })
  expect(faults).toEqual([])
})

test('generic code imports no kind', () => {
  const imports = generic.flatMap(importsOf).filter(({ target }) => kindOf(target) !== undefined)
  expect(generic.length).toBeGreaterThan(100)
  expect(imports.map(({ from, target }) => `${from} → ${target}`)).toEqual([])
})

test('generic code names no kind in a text', () => {
  const names = new Set(catalogue.flatMap(({ kind, plural }) => [kind, plural]))
  const code = generic.filter(({ path }) => !TABLES.includes(path))
  const found = code.flatMap((file) =>
    [...walk(parse(file))]
      .flatMap(([node]) => (node.type === 'Literal' ? (nameOf(node) ?? []) : []))
      .filter((text) => names.has(text))
      .map((text) => `${file.path}: ${text}`),
  )
  expect(found).toEqual([])
})

function isResource(value: unknown): value is Resource {
  return typeof value === 'object' && value !== null && 'plural' in value && 'columns' in value
}

/** The kind that a file belongs to, or a common folder. */
function kindOf(path: string): string | undefined {
  if (!path.startsWith(`${KINDS}/`)) return undefined
  const [first = '', ...rest] = path.slice(KINDS.length + 1).split('/')
  if (rest.length > 0) return first
  return [...declarations.keys()].find((kind) => declarations.get(kind) === first)
}
