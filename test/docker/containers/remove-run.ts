import type { ContainerRuntimeClient } from 'testcontainers'

/** Removes what a run left: containers and networks whose names begin with its name. */
export async function removeRun({ container }: ContainerRuntimeClient, run: string): Promise<void> {
  const engine = container.dockerode
  const filters = { name: [`${run}-`] }
  const containers = await engine.listContainers({ all: true, filters })
  for (const { Id } of containers) await engine.getContainer(Id).remove({ force: true, v: true })
  const networks = await engine.listNetworks({ filters })
  for (const { Id } of networks) await engine.getNetwork(Id).remove()
}
