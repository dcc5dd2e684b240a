package com.google.common.base;

/** Stands for Guava's, by its name and its kind. */
public class VerifyException extends RuntimeException {
    public VerifyException(String message) {
        super(message);
    }
}
