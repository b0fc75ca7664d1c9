import { beforeEach, expect, test } from 'vitest'
import { type Deployment, deploy } from '../../support/flows/deploy.ts'
import { nodeCommand } from '../../support/inspection/node-command.ts'
import { useLab } from '../../support/lab/use-lab.ts'

const lab = useLab()
beforeEach(() => lab().reset())
const TWO: Deployment = {
  key: 'ns/two',
  clusterIP: '172.30.41.1',
  endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }],
}
test('look', async () => {
  await deploy(lab(), TWO)
  await lab().site('pod', '10.0.0.2')
  for (const words of [
    ['status'],
    ['status', '-o', 'json'],
    ['entries'],
    ['explain', '10.0.0.2', 'ns/two'],
    ['explain', 'node', '172.30.41.1:80'],
    ['explain', '10.0.0.2', '172.30.41.1:81', '-o', 'json'],
    ['explain', '10.0.0.2', 'ns/none'],
    ['explain', '--help'],
  ])
    console.log(words.join(' '), await nodeCommand(lab(), ...words))
  expect(1).toBe(1)
})
