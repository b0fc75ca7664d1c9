import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sectionOf, withSections } from './document.ts'
import { DOCUMENTED, UNDOCUMENTED } from './failures.ts'
import { Scene } from './scene.ts'

const PAGE = '../../../../docs/operate/troubleshooting.md'
const ALL = [...DOCUMENTED, ...UNDOCUMENTED]

test('docs/operate/troubleshooting.md shows what an operator sees of each failure', async () => {
  const sections: string[] = []
  for (const failure of DOCUMENTED) sections.push(await sectionOf(failure))
  const page = readFileSync(new URL(PAGE, import.meta.url), 'utf8')
  await expect(withSections(page, sections)).toMatchFileSnapshot(PAGE)
})

test.each(ALL)('at the start: $title', async (failure) => {
  const scene = new Scene(failure)
  await scene.start(true)
  await scene.pass(30_000)
  const first = scene.records.find(({ fields }) => fields['reason'] === failure.reason)
  expect(first).toMatchObject({ fields: { server: scene.server } })
  expect(first?.fields).toHaveProperty('remedy', expect.stringMatching(/./))
  // A server without EndpointSlices is taken for one that has Endpoints.
  for (const resource of ['services', 'endpoint(?:slice)?s']) {
    expect(scene.reasons()).toContainEqual(
      expect.stringMatching(new RegExp(`^no watch on ${resource} is open: .+; .+`)),
    )
    const gauge = `^nodeproxy_api_failing{resource="${resource}",reason="${failure.reason}"} 1$`
    expect(await scene.counts()).toContainEqual(expect.stringMatching(new RegExp(gauge)))
  }
})

test.each(ALL)('while running, until it is over: $title', async (failure) => {
  const scene = new Scene(failure)
  await scene.start(false)
  await scene.pass(15_000)
  expect([scene.records, scene.reasons()]).toEqual([[], []])
  await scene.turn(true)
  await scene.pass(40_000)
  const reasons = scene.records.map(({ fields }) => fields['reason'])
  expect(reasons).toContain(failure.reason)
  expect(scene.reasons()).toContainEqual(expect.stringMatching(/^no watch on services is open: ./))
  await scene.turn(false)
  await scene.pass(60_000)
  expect(scene.reasons()).toEqual([])
  expect(scene.records).toContainEqual(
    expect.objectContaining({ level: 'info', message: expect.stringContaining('succeed again') }),
  )
  expect(
    (await scene.counts()).filter((line) => line.endsWith(' 1') && line.includes('failing')),
  ).toEqual([])
})
