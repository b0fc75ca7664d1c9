/** Paths from the root of the checkout. */
export const DOCKERFILES = { kernelTest: 'docker/kernel-test/Dockerfile' } as const
