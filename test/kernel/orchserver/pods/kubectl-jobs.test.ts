import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installedKubectls } from '../../../support/kubectl/installed.ts'
import { startKubectl } from './kubectl-run.ts'
import { type PodCluster, startPodCluster } from './pod-cluster.ts'

let cluster: PodCluster

beforeAll(async () => {
  cluster = await startPodCluster()
  await cluster.make('/api/v1/namespaces', { metadata: { name: 'jobs' } })
})

afterAll(() => cluster.close())

const STATE = '/srv/state'

/** A Job whose container runs a command of `sh`; what it writes to `STATE` is there when it is started again. */
function job(name: string, script: string, spec: object = {}, restartPolicy = 'Never'): string {
  const volumeMounts = [{ name: 'state', mountPath: STATE }]
  const template = {
    spec: {
      restartPolicy,
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'state', emptyDir: {} }],
      containers: [{ name: 'main', image: 'none', command: ['sh', '-c', script], volumeMounts }],
    },
  }
  const metadata = { name }
  return JSON.stringify({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata,
    spec: { template, ...spec },
  })
}

/** Other versions are in test/server. */
const NEWEST = installedKubectls().at(-1)

describe.runIf(NEWEST !== undefined)('kubectl', () => {
  const run = async (words: readonly string[], input = ''): Promise<string> => {
    const started = startKubectl(cluster, NEWEST?.path ?? '', ['-n', 'jobs', ...words])
    started.child.stdin.end(input)
    const { stdout, stderr, status } = await started.said()
    if (status !== 0) throw new Error(`${words.join(' ')}: ${stderr}`)
    return stdout
  }
  const create = (...parts: Parameters<typeof job>) => run(['create', '-f', '-'], job(...parts))
  const wait = (what: string, ...wanted: readonly string[]) =>
    run(['wait', what, '--timeout=60s', ...wanted.map((one) => `--for=${one}`)])
  const statusOf = async (name: string): Promise<unknown> =>
    JSON.parse(await run(['get', 'job', name, '-o', 'jsonpath={.status}']))
  const podOf = (name: string) => run(['get', 'pods', '-l', `job-name=${name}`, '-o', 'name'])

  test('a Job runs its command, is complete, and is deleted with its Pod', async () => {
    await run(['create', 'job', 'hello', '--image=none', '--', 'echo', 'hello, world'])
    await wait('job/hello', 'condition=complete')
    expect(await run(['logs', 'job/hello'])).toBe('hello, world\n')
    expect(await run(['get', 'job', 'hello', '--no-headers'])).toMatch(/^hello +Complete +1\/1 /)
    const pod = (await podOf('hello')).trim()
    expect(await run(['get', pod, '--no-headers'])).toMatch(/^hello-\w{5} +0\/1 +Completed +0 /)
    expect(await run(['describe', 'job', 'hello'])).toMatch(
      /Pods Statuses: +0 .*1 Succeeded[^]*Completed +\S+ +job-controller +Job completed/,
    )
    await run(['delete', 'job', 'hello'])
    await wait(pod, 'delete')
  })

  test('with OnFailure the container is started again until it succeeds', async () => {
    const script = `test -e ${STATE}/again || { touch ${STATE}/again; exit 3; }`
    await create('again', script, {}, 'OnFailure')
    await wait('job/again', 'condition=complete')
    expect(await run(['get', (await podOf('again')).trim(), '--no-headers'])).toMatch(
      / Completed +1 /,
    )
    expect(await statusOf('again')).not.toHaveProperty('failed')
  })

  test('with Never a Pod that fails is kept, and one too many ends the Job', async () => {
    await create('fails', 'exit 4', { backoffLimit: 0 })
    await wait('job/fails', 'condition=failed')
    expect(await run(['get', (await podOf('fails')).trim(), '--no-headers'])).toMatch(/ Error +0 /)
    expect(await run(['describe', 'job', 'fails'])).toContain('BackoffLimitExceeded')
  })

  test('a Job that runs for too long loses its Pod', async () => {
    await create('slow', 'sleep 600', { activeDeadlineSeconds: 600 })
    await wait('job/slow', 'jsonpath={.status.ready}=1')
    await run(['patch', 'job', 'slow', '-p', '{"spec":{"activeDeadlineSeconds":1}}'])
    await wait('job/slow', 'condition=failed')
    await expect.poll(() => podOf('slow')).toBe('')
    expect(await statusOf('slow')).toMatchObject({
      failed: 1,
      conditions: [{ type: 'FailureTarget' }, { type: 'Failed', reason: 'DeadlineExceeded' }],
    })
  })

  test('each Pod of an indexed Job knows its index', async () => {
    const spec = { completionMode: 'Indexed', completions: 3, parallelism: 2 }
    await create('parts', 'echo part $JOB_COMPLETION_INDEX', spec)
    await wait('job/parts', 'condition=complete')
    const said = await run(['logs', '-l', 'job-name=parts'])
    expect(said.split('\n').toSorted()).toEqual(['', 'part 0', 'part 1', 'part 2'])
    expect(await statusOf('parts')).toMatchObject({ completedIndexes: '0-2', succeeded: 3 })
  })

  test('a Job that is suspended has no Pod, and goes on when it is resumed', async () => {
    const begun = 'trap "exit 0" TERM; sleep 600 & wait'
    await create('held', `test -e ${STATE}/never || { ${begun}; }`, { parallelism: 1 })
    await wait('job/held', 'jsonpath={.status.ready}=1')
    const pod = (await podOf('held')).trim()
    await run(['patch', 'job', 'held', '-p', '{"spec":{"suspend":true}}'])
    await wait(pod, 'delete')
    await wait('job/held', 'condition=suspended')
    await run(['patch', 'job', 'held', '-p', '{"spec":{"suspend":false}}'])
    await wait('job/held', 'jsonpath={.status.ready}=1')
    expect(await statusOf('held')).not.toHaveProperty('failed')
    await run(['delete', 'job', 'held'])
  })

  test('a Pod that is deleted goes, counts as failed, and is replaced', async () => {
    await create('robbed', 'sleep 600')
    await wait('job/robbed', 'jsonpath={.status.ready}=1')
    await run(['delete', (await podOf('robbed')).trim()])
    await wait('job/robbed', 'jsonpath={.status.failed}=1')
    await wait('job/robbed', 'jsonpath={.status.ready}=1')
    expect(await statusOf('robbed')).toMatchObject({ active: 1, failed: 1 })
    await run(['delete', 'job', 'robbed'])
  })
})
