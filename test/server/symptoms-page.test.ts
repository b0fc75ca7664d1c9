import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DoctorCluster, startDoctorCluster } from '../support/doctor/doctor-cluster.ts'
import { openShop } from '../support/doctor/shop.ts'
import { SPOILT_CLUSTERS } from '../support/doctor/spoilt-clusters.ts'
import { followSymptom } from '../support/pages/shown-command.ts'

/** The commands about objects of page: 'troubleshooting.md', each in a cluster that has the symptom. */
/** A DNS server that is not there, and the one that stands for it in the page. */
const SILENT = '127.0.0.1:1'
const SHOWN_SERVER = '192.0.2.53'

let cluster: DoctorCluster
let index = 0

beforeAll(async () => {
  cluster = await startDoctorCluster()
})

afterAll(() => cluster?.[Symbol.asyncDispose]())

type Follow = (heading: string, block: number) => Promise<void>

/** Makes a symptom in a namespace of its own, which stands for `shop`; runs commands there. */
async function make(what: string): Promise<Follow> {
  index += 1
  const namespace = `symptom-${index}`
  const shop = await openShop(cluster, namespace, index)
  const spoilt = SPOILT_CLUSTERS.find((one) => one.what === what)
  expect(spoilt, what).toBeDefined()
  const args = (await spoilt!.spoil(shop)) ?? []
  await keepToken(args)
  const run = async (script: string): Promise<string> => {
    const here = script
      .replaceAll(/(?<=-n |serviceaccount:)shop\b/g, namespace)
      .replaceAll(SHOWN_SERVER, SILENT)
    const printed = await cluster.shell.program('bash', ['-c', here])
    return printed.replaceAll(namespace, 'shop').replaceAll(SILENT, SHOWN_SERVER)
  }
  return (heading, block) => followSymptom(heading, block, run)
}

/** The page has the file of a token in the folder of its reader. */
async function keepToken(args: readonly string[]): Promise<void> {
  const file = args.find((arg) => arg.startsWith('--token-file='))?.split('=')[1]
  if (file !== undefined) await copyFile(file, join(cluster.shell.home, 'token'))
}

test('a Service that is not reachable', async () => {
  const follow = await make('a label with a mistake')
  await follow('Service not reachable', 0)
  await follow('Service IP unreachable', 0)
})

test('connections that time out', async () => {
  const follow = await make('Pods whose readiness probe fails')
  await follow('Connection timeout', 0)
})

test('load that is not balanced', async () => {
  const follow = await make('session affinity of the inspected Service')
  await follow('Unbalanced load', 0)
})

test('names that do not resolve', async () => {
  const follow = await make('session affinity of the inspected Service')
  await follow('DNS resolution fails', 0)
  await follow('DNS resolution fails', 1)
})

test('no access from outside', async () => {
  const follow = await make('source ranges of the loopback alone')
  await follow('External access fails', 1)
})

test('a Pod that cannot use the API', async () => {
  const follow = await make('a revoked binding')
  await follow('Pod cannot reach the API', 0)
})

test('a permission that is denied', async () => {
  const follow = await make('a deleted role')
  await follow('Permission denied', 0)
  await follow('Permission denied', 1)
})

test('a token of an account that is not there', async () => {
  const follow = await make('a deleted account')
  await follow('Token does not exist', 0)
  await follow('Token does not exist', 1)
})

test('a token that has expired', async () => {
  const follow = await make('a token that has expired')
  await follow('Token expired', 0)
})

test('an image that cannot be pulled', async () => {
  const follow = await make('a pull secret that is not there')
  await follow('Image pull fails', 0)
})
