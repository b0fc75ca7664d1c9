import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DoctorCluster, startDoctorCluster } from '../support/doctor/doctor-cluster.ts'
import { openShop } from '../support/doctor/shop.ts'
import { SPOILT_CLUSTERS } from '../support/doctor/spoilt-clusters.ts'
import { expectSymptomShown } from '../support/pages/shown-command.ts'

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

type ExpectShown = (heading: string, block: number) => Promise<void>

/** Makes a symptom in a namespace of its own, which stands for `shop`; runs commands there. */
async function make(what: string): Promise<ExpectShown> {
  index += 1
  const namespace = `symptom-${index}`
  const shop = await openShop(cluster, namespace, index)
  const spoilt = SPOILT_CLUSTERS.find((one) => one.what === what)
  expect(spoilt, `the spoilt cluster ${what}`).toBeDefined()
  const args = (await spoilt!.spoil(shop)) ?? []
  await keepToken(args)
  const run = async (script: string): Promise<string> => {
    const here = script
      .replaceAll(/(?<=-n |serviceaccount:)shop\b/g, namespace)
      .replaceAll(SHOWN_SERVER, SILENT)
    const printed = await cluster.shell.program('bash', ['-c', here])
    return printed.replaceAll(namespace, 'shop').replaceAll(SILENT, SHOWN_SERVER)
  }
  return (heading, block) => expectSymptomShown(heading, block, run)
}

/** The page has the file of a token in the folder of its reader. */
async function keepToken(args: readonly string[]): Promise<void> {
  const file = args.find((arg) => arg.startsWith('--token-file='))?.split('=')[1]
  if (file !== undefined) await copyFile(file, join(cluster.shell.home, 'token'))
}

test('a Service that is not reachable', async () => {
  const expectShown = await make('a label with a mistake')
  await expectShown('Service not reachable', 0)
  await expectShown('Service IP unreachable', 0)
})

test('connections that time out', async () => {
  const expectShown = await make('Pods whose readiness probe fails')
  await expectShown('Connection timeout', 0)
})

test('load that is not balanced', async () => {
  const expectShown = await make('session affinity of the inspected Service')
  await expectShown('Unbalanced load', 0)
})

test('names that do not resolve', async () => {
  const expectShown = await make('session affinity of the inspected Service')
  await expectShown('DNS resolution fails', 0)
  await expectShown('DNS resolution fails', 1)
})

test('no access from outside', async () => {
  const expectShown = await make('source ranges of the loopback alone')
  await expectShown('External access fails', 1)
})

test('a Pod that cannot use the API', async () => {
  const expectShown = await make('a revoked binding')
  await expectShown('Pod cannot reach the API', 0)
})

test('a permission that is denied', async () => {
  const expectShown = await make('a deleted role')
  await expectShown('Permission denied', 0)
  await expectShown('Permission denied', 1)
})

test('a token of an account that is not there', async () => {
  const expectShown = await make('a deleted account')
  await expectShown('Token does not exist', 0)
  await expectShown('Token does not exist', 1)
})

test('a token that has expired', async () => {
  const expectShown = await make('a token that has expired')
  await expectShown('Token expired', 0)
})

test('an image that cannot be pulled', async () => {
  const expectShown = await make('a pull secret that is not there')
  await expectShown('Image pull fails', 0)
})
