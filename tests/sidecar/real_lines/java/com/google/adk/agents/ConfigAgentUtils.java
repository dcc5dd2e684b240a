package com.google.adk.agents;

/** Holds what stands for the exception of google-adk when an agent's file names a tool that is not there. */
public final class ConfigAgentUtils {
    private ConfigAgentUtils() {}

    public static class ConfigurationException extends Exception {
        public ConfigurationException(String message) {
            super(message);
        }
    }
}
