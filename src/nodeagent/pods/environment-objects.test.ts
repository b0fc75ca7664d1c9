import { expect, test } from 'vitest'
import { localFailure, statusFailure } from '../../client/http/failure.ts'
import type { ObjectReference } from '../plan/environment-plan.ts'
import { containers, podPlan } from '../testing/pod-story.ts'
import { EnvironmentObjects } from './environment-objects.ts'

const DB: ObjectReference = { resource: 'secrets', name: 'db', isOptional: false }
const NAME = { name: 'db', key: 'k' }
const [PLAN] = podPlan(
  containers({
    env: ['A', 'B'].map((name) => ({ name, valueFrom: { secretKeyRef: NAME } })),
    envFrom: [{ secretRef: { name: 'db' } }, { configMapRef: { name: 'settings' } }],
  }),
).containers

/** A server that has a Secret, until `failure` is set. */
function stage() {
  const server = { failure: undefined as ReturnType<typeof statusFailure> | undefined }
  const paths: string[] = []
  const get = (path: string) => {
    paths.push(path)
    const { failure } = server
    const value = { data: { k: Buffer.from('geheim').toString('base64') } }
    return Promise.resolve(
      failure === undefined ? ({ ok: true, value } as const) : ({ ok: false, failure } as const),
    )
  }
  return { server, paths, objects: new EnvironmentObjects({ get }, 'default') }
}

test('reads each object once, by its name', async () => {
  const { objects, paths } = stage()
  const valuesOf = await objects.read(PLAN!)
  expect(valuesOf(DB)?.get('k')).toBe('geheim')
  const folder = '/api/v1/namespaces/default'
  expect(paths).toEqual([`${folder}/secrets/db`, `${folder}/configmaps/settings`])
})

test('what was read before is used only while the server does not answer', async () => {
  const { objects, server } = stage()
  const unreachable = localFailure('NP_CLIENT_UNREACHABLE', 'Unreachable', 'no answer')
  server.failure = unreachable
  await expect(objects.read(PLAN!)).rejects.toThrow('no answer')
  server.failure = undefined
  await objects.read(PLAN!)
  server.failure = unreachable
  expect((await objects.read(PLAN!))(DB)?.get('k')).toBe('geheim')
  server.failure = statusFailure(403, {})
  await expect(objects.read(PLAN!)).rejects.toThrow('HTTP 403')
  server.failure = statusFailure(404, {})
  expect((await objects.read(PLAN!))(DB)).toBeUndefined()
  server.failure = unreachable
  await expect(objects.read(PLAN!)).rejects.toThrow('no answer')
})
