// The options turn off every feature that sends requests to another server: fonts,
// telemetry, the agent, the hosted client and the proxy.
Scalar.createApiReference('#reference', {
  url: '/docs/openapi.json', // with examples of calls
  hiddenClients: true, // other examples, which do without a client of Rail
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  persistAuth: true,
  authentication: { preferredSecurityScheme: 'bearer' },
})
